package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Names of the binaries in the assets directory.
const (
	EtcdBinary      = "etcd"
	APIServerBinary = "kube-apiserver"
	KubectlBinary   = "kubectl"
	CAPIBinary      = "capi-core"
	capiCRDs        = "capi-crds"
)

// Root is the repository's root on this machine.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Assets finds the directory of the built binaries: KUBEBUILDER_ASSETS, or where tools/controlplane puts them. It builds nothing; the
// error says how to.
func Assets() (string, error) {
	cmd := exec.Command("bash", filepath.Join(Root(), "tools", "controlplane", "build.sh"), "where")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking tools/controlplane/build.sh for the binaries: %w: %s", err, stderr.String())
	}
	dir := strings.TrimSpace(string(out))
	for _, name := range []string{EtcdBinary, APIServerBinary, KubectlBinary, CAPIBinary, capiCRDs} {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%s is not in %s: run `make controlplane`", name, dir)
		}
	}
	return dir, nil
}

// Require is Assets for a test, which is skipped without them; in CI it fails.
func Require(t testing.TB) string {
	t.Helper()
	dir, err := Assets()
	if err != nil {
		Unavailable(t, err.Error())
	}
	return dir
}

// Unavailable skips a test for want of something, and fails it where everything must run.
func Unavailable(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
