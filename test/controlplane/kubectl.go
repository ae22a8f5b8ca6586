package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// RunKubectl runs kubectl as a cluster administrator from the repository's root, and gives what it printed; also when it fails.
func (c *ControlPlane) RunKubectl(ctx context.Context, args ...string) (string, error) {
	kubeconfig, err := c.kubeconfigFile()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, c.Kubectl(), append([]string{"--kubeconfig", kubeconfig, "--cache-dir", c.dir}, args...)...)
	cmd.Dir = Root()
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return text, nil
}

// kubeconfigFile is an administrator's, for a program that wants a file.
func (c *ControlPlane) kubeconfigFile() (string, error) {
	path := filepath.Join(c.dir, "admin.kubeconfig")
	return path, os.WriteFile(path, c.Kubeconfig, 0o600)
}
