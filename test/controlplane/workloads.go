package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What `build.sh node` builds besides.
const (
	KubeletBinary           = "kubelet"
	controllerManagerBinary = "kube-controller-manager"
	schedulerBinary         = "kube-scheduler"
)

// workloadControllers are those that DaemonSets, their pods' identities, Nodes that are lost, and deletes live from.
const workloadControllers = "daemonset-controller,pod-garbage-collector-controller,node-lifecycle-controller," +
	"garbage-collector-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller"

// RequireNode is Require for a test that runs a real kubelet.
func RequireNode(t testing.TB) string {
	t.Helper()
	dir := Require(t)
	for _, name := range []string{KubeletBinary, controllerManagerBinary, schedulerBinary} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			Unavailable(t, name+" is not in "+dir+": run `make controlplane-node`")
		}
	}
	return dir
}

// StartWorkloads starts the controller manager and the scheduler, so that a DaemonSet gets pods, and those run as their ServiceAccount.
// The control plane must have been started with [Options.Workloads]. The function that it gives ends both.
func (c *ControlPlane) StartWorkloads() (stop func() error, err error) {
	kubeconfig, err := c.kubeconfigFile()
	if err != nil {
		return nil, err
	}
	authority := filepath.Join(c.dir, "ca.pem")
	if err := os.WriteFile(authority, c.Config.CAData, 0o600); err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	common := func(port int) []string {
		return []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", port), "--cert-dir=" + filepath.Join(c.dir, "workloads")}
	}
	manager, err := c.start(controllerManagerBinary,
		append(common(ports[0]), "--controllers="+workloadControllers, "--root-ca-file="+authority)...)
	if err != nil {
		return nil, err
	}
	scheduler, err := c.start(schedulerBinary, common(ports[1])...)
	if err != nil {
		return nil, errors.Join(err, manager.Stop())
	}
	return func() error { return errors.Join(scheduler.Stop(), manager.Stop()) }, nil
}
