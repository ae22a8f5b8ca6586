package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// auditPolicy records who wrote what to Nodes and Pods, evictions included, and every request of some users, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: [%s]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{group: "", resources: [nodes, pods, pods/eviction]}]
- level: None
`

// startTimeout is generous because two control planes may start at once on two cores; stopTimeout, because etcd flushes.
const (
	startTimeout = 90 * time.Second
	stopTimeout  = 20 * time.Second
)

// Options say what a control plane is born with.
type Options struct {
	// CRDs are files or directories of CustomResourceDefinitions.
	CRDs []string
	// CAPI installs the CRDs of Cluster API's core, too.
	CAPI bool
	// AuditUsers are those whose every request is in the audit log.
	AuditUsers []string
	// Workloads gives pods the identity of their ServiceAccount, for whom StartWorkloads is called. Without it a pod needs neither a
	// ServiceAccount nor a controller that makes one.
	Workloads bool
}

// ControlPlane is a running etcd and kube-apiserver.
type ControlPlane struct {
	// Config is a cluster administrator's.
	Config *rest.Config
	// Kubeconfig is the same as a file's content.
	Kubeconfig []byte
	// AuditLog is the path of the API server's audit log: one JSON event a line.
	AuditLog string

	assets string
	dir    string
	env    *envtest.Environment
}

// Start starts a control plane on free loopback ports and waits until it serves.
func Start(o Options) (_ *ControlPlane, err error) {
	assets, err := Assets()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{assets: assets, dir: dir, AuditLog: filepath.Join(dir, "audit.log")}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, fmt.Appendf(nil, auditPolicy, strings.Join(append(o.AuditUsers, "nobody"), ", ")), 0o600); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "certs"), 0o700); err != nil {
		return nil, err
	}
	c.env = c.environment(o, policy)
	if c.Config, err = c.env.Start(); err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	c.Kubeconfig = c.env.KubeConfig
	return c, nil
}

func (c *ControlPlane) environment(o Options, policy string) *envtest.Environment {
	crds := o.CRDs
	if o.CAPI {
		crds = append([]string{filepath.Join(c.assets, capiCRDs)}, crds...)
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory:    c.assets,
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  stopTimeout,
	}
	// A directory of our own outlives StopAPIServer. The default does not, and the next start would come with another CA.
	env.ControlPlane.GetAPIServer().CertDir = filepath.Join(c.dir, "certs")
	env.ControlPlane.GetAPIServer().Configure().
		Set("authorization-mode", "Node", "RBAC").
		Append("enable-admission-plugins", "NodeRestriction").
		// Otherwise a stop waits a minute for the watches of whoever is under test, longer than stopTimeout.
		Set("shutdown-watch-termination-grace-period", "1s").
		Set("audit-policy-file", policy).
		Set("audit-log-path", c.AuditLog)
	if o.Workloads {
		env.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins") // envtest's default for it is ServiceAccount
	}
	return env
}

// Node is the kubelet identity of a Node: the authorizer and NodeRestriction limit it to that Node.
func (c *ControlPlane) Node(name string) (*envtest.AuthenticatedUser, error) {
	return c.User("system:node:"+name, "system:nodes")
}

// User is an identity of that name in those groups.
func (c *ControlPlane) User(name string, groups ...string) (*envtest.AuthenticatedUser, error) {
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return nil, fmt.Errorf("adding user %s: %w", name, err)
	}
	return user, nil
}

// Kubectl is the path of a kubectl of the API server's version.
func (c *ControlPlane) Kubectl() string { return filepath.Join(c.assets, KubectlBinary) }

// StopAPIServer ends the API server alone; its state stays in etcd. StartAPIServer brings it back on the same port.
func (c *ControlPlane) StopAPIServer() error { return c.env.ControlPlane.GetAPIServer().Stop() }

// StartAPIServer undoes StopAPIServer.
func (c *ControlPlane) StartAPIServer() error { return c.env.ControlPlane.GetAPIServer().Start() }

// Stop ends the servers and removes what they wrote.
func (c *ControlPlane) Stop() error {
	var err error
	if c.env != nil {
		err = c.env.Stop()
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// ForTest starts a control plane that ends with the test, which is skipped when the binaries are not there.
func ForTest(t testing.TB, o Options) *ControlPlane {
	t.Helper()
	Require(t)
	c, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}
