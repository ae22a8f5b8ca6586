// Package image looks at what tools/image writes, as a registry and containerd would.
package image

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	name    = "localhost/5spot-reclaim-agent:v1"
	version = "v1"
)

// descriptor is what an OCI index or manifest says of a blob.
type descriptor struct {
	Digest      string
	Annotations map[string]string
	Platform    struct{ OS, Architecture string }
}

// document is an OCI index, manifest or configuration: all that the test asks for.
type document struct {
	Manifests []descriptor
	Config    json.RawMessage
	Layers    []descriptor
}

// build makes an image of two programs that say what they are for.
func build(t *testing.T, environment ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"run", "-C", filepath.Join(controlplane.Root(), "tools", "image"), ".",
		"-name", name, "-version", version, "-user", "0:0", "-about", "what it does", "-out", filepath.Join(dir, "image")}
	for _, architecture := range []string{"amd64", "arm64"} {
		program := filepath.Join(dir, architecture, "5spot-reclaim-agent")
		require.NoError(t, os.Mkdir(filepath.Dir(program), 0o700))
		require.NoError(t, os.WriteFile(program, []byte("for "+architecture), 0o600))
		args = append(args, architecture+"="+program)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "image")
}

func TestTheSameProgramsGiveTheSameBytes(t *testing.T) {
	hash := func(path string) string {
		content, err := os.ReadFile(path + ".tar")
		require.NoError(t, err)
		return fmt.Sprintf("%x", sha256.Sum256(content))
	}
	first := hash(build(t))
	require.Equal(t, first, hash(build(t)))
	require.NotEqual(t, first, hash(build(t, "SOURCE_DATE_EPOCH=1700000000")))
}

func TestOneNameForEveryArchitecture(t *testing.T) {
	image := build(t)
	top := read(t, filepath.Join(image, "index.json"))
	require.Len(t, top.Manifests, 1)
	require.Equal(t, name, top.Manifests[0].Annotations["io.containerd.image.name"])

	index := read(t, blob(image, top.Manifests[0].Digest))
	var architectures []string
	for _, manifest := range index.Manifests {
		require.Equal(t, "linux", manifest.Platform.OS)
		architectures = append(architectures, manifest.Platform.Architecture)
	}
	require.Equal(t, []string{"amd64", "arm64"}, architectures)
}

func TestTheImageHoldsTheProgramAndNothingElse(t *testing.T) {
	image := build(t)
	index := read(t, blob(image, read(t, filepath.Join(image, "index.json")).Manifests[0].Digest))
	for _, reference := range index.Manifests {
		manifest := read(t, blob(image, reference.Digest))
		require.Len(t, manifest.Layers, 1)
		require.Equal(t, []string{"5spot-reclaim-agent -rwxr-xr-x for " + reference.Platform.Architecture},
			files(t, blob(image, manifest.Layers[0].Digest)))

		var config descriptor
		require.NoError(t, json.Unmarshal(manifest.Config, &config))
		var runtime struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
		require.NoError(t, json.Unmarshal(read(t, blob(image, config.Digest)).Config, &runtime))
		require.Equal(t, []string{"/5spot-reclaim-agent"}, runtime.Entrypoint)
		require.Equal(t, "0:0", runtime.User)
		require.Equal(t, version, runtime.Labels["org.opencontainers.image.version"])
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", filepath.Join(controlplane.Root(), "tools", "image"), ".",
		"-name", name, "-version", version, "-user", "0:0", "-about", "what it does", "-out", filepath.Join(t.TempDir(), "image"), "amd64=absent")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "making the image for amd64: open absent: no such file or directory")
}

func read(t *testing.T, path string) document {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(content, &d))
	return d
}

func blob(image, digest string) string {
	return filepath.Join(image, "blobs", strings.Replace(digest, ":", string(filepath.Separator), 1))
}

// files are those of a layer, each with its mode and content.
func files(t *testing.T, layer string) []string {
	t.Helper()
	compressed, err := os.Open(layer)
	require.NoError(t, err)
	defer compressed.Close()
	archive, err := gzip.NewReader(compressed)
	require.NoError(t, err)
	var all []string
	for entries := tar.NewReader(archive); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		content, err := io.ReadAll(entries)
		require.NoError(t, err)
		all = append(all, fmt.Sprintf("%s %s %s", header.Name, header.FileInfo().Mode(), content))
	}
}
