package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// write replaces the layout at out, and out.tar.
func write(d description, out string) error {
	index, err := d.index()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	path, err := layout.Write(out, empty.Index)
	if err != nil {
		return err
	}
	// The index of the architectures is the layout's only entry: a registry gets it whole, and containerd gives its name to it.
	named := layout.WithAnnotations(map[string]string{"io.containerd.image.name": d.name, "org.opencontainers.image.ref.name": d.version})
	if err := path.AppendIndex(index, named); err != nil {
		return err
	}
	return pack(out, out+".tar", d.created)
}

// pack writes a directory's files into an archive, in the order of their names and all of one time.
func pack(dir, archive string, at time.Time) (err error) {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	w := tar.NewWriter(file)
	defer func() { err = errors.Join(err, w.Close(), file.Close()) }()
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return add(w, path, filepath.ToSlash(name), at)
	})
}

func add(w *tar.Writer, path, name string, at time.Time) error {
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644, ModTime: at, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}
