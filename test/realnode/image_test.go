package realnode

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/workstation"
)

// idlerImage holds a program that does nothing, under two names: /idler, and /java. It is what pods run, the pause of a pod, too.
const idlerImage = "localhost/idler:1"

// agentImage makes the image as `make image` does, for this machine's architecture alone, under the name that the manifests have.
func agentImage(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	agent, err := workstation.BuildAgent(t.Context(), dir)
	require.NoError(t, err)
	out := filepath.Join(dir, "image")
	run(t, "go", "run", "-C", filepath.Join(controlplane.Root(), "tools", "image"), ".",
		"-name", name, "-version", "test", "-user", "0:0", "-about", "test", "-out", out, runtime.GOARCH+"="+agent)
	return out + ".tar"
}

// buildIdler builds the idle program, static.
func buildIdler(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "idler")
	t.Setenv("CGO_ENABLED", "0")
	run(t, "go", "build", "-C", controlplane.Root(), "-o", path, "./bats/idler")
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	return program
}

func run(t *testing.T, command ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "%v: %s", command, out)
}

// archive is an image in the form of `docker save`: one layer that holds the program under each of the names, the first being what runs.
func archive(t *testing.T, image string, program []byte, names ...string) string {
	t.Helper()
	var files []file
	for _, name := range names {
		files = append(files, file{name, 0o755, program})
	}
	layer := pack(t, files...)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"Entrypoint": []string{"/" + names[0]}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	require.NoError(t, err)
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{image}, "Layers": []string{"layer.tar"}}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "image.tar")
	whole := pack(t, file{"config.json", 0o644, config}, file{"layer.tar", 0o644, layer}, file{"manifest.json", 0o644, manifest})
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	return path
}

type file struct {
	name    string
	mode    int64
	content []byte
}

func pack(t *testing.T, files ...file) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content))}))
		_, err := w.Write(f.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return archive.Bytes()
}
