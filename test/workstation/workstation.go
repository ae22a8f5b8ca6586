// Package workstation makes a directory look like a machine that has joined a cluster, as far as the agent can tell: the kubelet's
// kubeconfig and certificate, the machine id, and the Node that the kubelet would keep. It must not know what the agent does with them.
package workstation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

// MachineID is what is in /etc/machine-id.
const MachineID = "3d1219c7c4c5404aaa1f6d2a48adfda4"

// Workstation is a directory and a kubelet's identity.
type Workstation struct {
	// Name of its Node.
	Name string
	// Kubelet is that Node's identity.
	Kubelet *rest.Config
	dir     string
}

// New makes the files in dir. The Node is not there until Register.
func New(cp *controlplane.ControlPlane, name, dir string) (*Workstation, error) {
	user, err := cp.Node(name)
	if err != nil {
		return nil, err
	}
	w := &Workstation{Name: name, Kubelet: user.Config(), dir: dir}
	return w, errors.Join(
		w.write("machine-id", []byte(MachineID+"\n")),
		w.write("ca.pem", w.Kubelet.CAData),
		w.UseCertificate(w.Kubelet.CertData, w.Kubelet.KeyData),
		w.Join(w.Kubelet.Host))
}

// Kubeconfig is the path of the kubelet's kubeconfig.
func (w *Workstation) Kubeconfig() string { return filepath.Join(w.dir, "kubelet.conf") }

// MachineIDFile is the path of what is /etc/machine-id on a real machine.
func (w *Workstation) MachineIDFile() string { return filepath.Join(w.dir, "machine-id") }

// UseCertificate replaces the client certificate and its key, which a kubelet keeps in one file.
func (w *Workstation) UseCertificate(certificate, key []byte) error {
	return w.write("kubelet.pem", append(append(certificate[:len(certificate):len(certificate)], '\n'), key...))
}

// Join writes the kubeconfig, for the API server at that address.
func (w *Workstation) Join(server string) error {
	return w.write("kubelet.conf", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: ca.pem}}]
users: [{name: u, user: {client-certificate: kubelet.pem, client-key: kubelet.pem}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server))
}

// Leave removes the kubeconfig.
func (w *Workstation) Leave() error { return os.Remove(w.Kubeconfig()) }

// Register makes the Node, as the kubelet does.
func (w *Workstation) Register(ctx context.Context) (*corev1.Node, error) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}
	kubelet, err := client.New(w.Kubelet, client.Options{})
	if err != nil {
		return nil, err
	}
	if err := kubelet.Create(ctx, n); err != nil {
		return nil, err
	}
	return n, w.Report(ctx, n, MachineID)
}

// Report is the kubelet's word on the Node's status. It makes no difference who has written to the Node meanwhile.
func (w *Workstation) Report(ctx context.Context, n *corev1.Node, machineID string) error {
	kubelet, err := client.New(w.Kubelet, client.Options{})
	if err != nil {
		return err
	}
	patch := client.MergeFrom(n.DeepCopy())
	n.Status.NodeInfo.MachineID = machineID
	return kubelet.Status().Patch(ctx, n, patch)
}

// write replaces a file by rename, so that nobody reads half of it.
func (w *Workstation) write(name string, content []byte) error {
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
