package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// ownNamespace is the controller's.
const ownNamespace = "5spot-system"

// account is the controller's ServiceAccount, with exactly the roles that deploy/controller gives it.
type account struct {
	config     *rest.Config
	kubeconfig []byte
}

// deploy applies deploy/controller to the management cluster as an administrator does. Nothing runs there: the tests start the controller, as
// that ServiceAccount.
func deploy(ctx context.Context, l *lab.Lab) (*account, error) {
	dir, err := os.MkdirTemp("", "deploy-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	admin := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(admin, l.Management.Kubeconfig, 0o600); err != nil {
		return nil, err
	}
	apply := exec.CommandContext(ctx, l.Management.Kubectl(), "--kubeconfig="+admin, "--cache-dir="+dir,
		"apply", "--server-side", "-k", filepath.Join(controlplane.Root(), "deploy", "controller"))
	var complaints bytes.Buffer
	apply.Stderr = &complaints
	if err := apply.Run(); err != nil || complaints.Len() > 0 { // warnings, too: the namespace warns of pods that are not restricted
		return nil, fmt.Errorf("applying deploy/controller: %w: %s", err, complaints.String())
	}
	return newAccount(ctx, l)
}

func newAccount(ctx context.Context, l *lab.Lab) (*account, error) {
	sa := &corev1.ServiceAccount{}
	sa.Namespace, sa.Name = ownNamespace, "5spot-controller"
	token := &authenticationv1.TokenRequest{}
	if err := l.Admin.SubResource("token").Create(ctx, sa, token); err != nil {
		return nil, fmt.Errorf("asking for a token of the controller: %w", err)
	}
	a := &account{config: rest.AnonymousClientConfig(l.Management.Config)}
	a.config.BearerToken = token.Status.Token
	file, err := clientcmd.Load(l.Management.Kubeconfig)
	if err != nil {
		return nil, err
	}
	for _, user := range file.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token.Status.Token
	}
	a.kubeconfig, err = clientcmd.Write(*file)
	return a, err
}
