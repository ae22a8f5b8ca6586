// Command childcluster runs a real control plane for tests that are written in shell. Into the directory it is given go the credentials of an
// administrator (admin.conf) and of two nodes' kubelets (ws-1.conf, ws-2.conf), a kubectl of the server's version, and last a file named ready. SIGTERM ends
// it. It must not know the tests.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: childcluster DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "childcluster:", err)
		os.Exit(1)
	}
}

func run(dir string) (err error) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	cp, err := controlplane.Start(controlplane.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if stopped := cp.Stop(); err == nil {
			err = stopped
		}
	}()
	if err := provide(cp, dir); err != nil {
		return err
	}
	<-end
	return nil
}

// provide writes what the tests use.
func provide(cp *controlplane.ControlPlane, path string) error {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if err := dir.Symlink(cp.Kubectl(), controlplane.KubectlBinary); err != nil {
		return err
	}
	if err := dir.WriteFile("admin.conf", cp.Kubeconfig, 0o600); err != nil {
		return err
	}
	for _, name := range []string{"ws-1", "ws-2"} {
		if err := provideKubelet(cp, dir, name); err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
	}
	return dir.WriteFile("ready", nil, 0o600)
}

func provideKubelet(cp *controlplane.ControlPlane, dir *os.Root, name string) error {
	user, err := cp.Node(name)
	if err != nil {
		return err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return err
	}
	return dir.WriteFile(name+".conf", kubeconfig, 0o600)
}
