package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// description is what goes into an image.
type description struct {
	name, version string
	// user is UID:GID; about is one sentence for whoever looks at the image.
	user, about string
	created     time.Time
	binaries    []binary
}

type binary struct{ architecture, path string }

// program is its name, also in the image.
func (b binary) program() string { return filepath.Base(b.path) }

// index is the image of every architecture under one name.
func (d description) index() (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range d.binaries {
		image, err := d.image(b)
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", b.architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: b.architecture}},
		})
	}
	return index, nil
}

func (d description) image(b binary) (v1.Image, error) {
	content, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	layer, err := d.layer(b.program(), content)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: d.created}, CreatedBy: "tools/image"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, d.configure(config.DeepCopy(), b))
}

// configure describes the image to whoever runs it. The program lies in the root directory, where nothing of a host is mounted.
func (d description) configure(config *v1.ConfigFile, b binary) *v1.ConfigFile {
	config.OS, config.Architecture, config.Created = "linux", b.architecture, v1.Time{Time: d.created}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + b.program()},
		User:       d.user,
		WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":       b.program(),
			"org.opencontainers.image.description": d.about,
			"org.opencontainers.image.version":     d.version,
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}
	return config
}

// layer holds the one file.
func (d description) layer(program string, content []byte) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: program, Size: int64(len(content)), Mode: 0o755, ModTime: d.created, Format: tar.FormatUSTAR,
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}
