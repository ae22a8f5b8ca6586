package stubk0smotron

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Hosts are the machines that have joined a child cluster, and those that have left it again.
type Hosts struct {
	options Options
	log     logr.Logger
	// add hands a kubelet to the manager, which runs it and waits for its end.
	add func(manager.Runnable) error

	mu sync.Mutex
	// kubelets holds the last kubelet of each address, running or not.
	kubelets map[string]*kubelet
}

// identity is the name under which a host joins, and the marks that tie its Node to a Machine.
type identity struct {
	host        Host
	address     string
	nodeName    string
	machineName string
	machineUID  types.UID
	providerID  string
}

// SetupWithManager adds both controllers to mgr, which must be able to reach a management cluster with the CRDs installed. The
// hosts' goroutines are mgr's, too, and end with it.
func SetupWithManager(mgr ctrl.Manager, options Options) (*Hosts, error) {
	options = options.withDefaults()
	hosts := &Hosts{options: options, log: mgr.GetLogger(), add: mgr.Add, kubelets: map[string]*kubelet{}}
	bootstrap := &bootstrapReconciler{client: mgr.GetClient(), reader: mgr.GetAPIReader()}
	if err := bootstrap.setup(mgr); err != nil {
		return nil, fmt.Errorf("setting up the bootstrap controller: %w", err)
	}
	infrastructure := &infrastructureReconciler{
		client: mgr.GetClient(), reader: mgr.GetAPIReader(), hosts: hosts, options: options,
	}
	if err := infrastructure.setup(mgr); err != nil {
		return nil, fmt.Errorf("setting up the infrastructure controller: %w", err)
	}
	return hosts, nil
}

// Reboot starts the kubelet of the host at address again, as on a host that was switched off while its Machine went: its
// credential is still good, so its Node comes back. It returns when the Node is registered.
func (h *Hosts) Reboot(ctx context.Context, address string) error {
	last := h.last(address)
	if last == nil {
		return fmt.Errorf("rebooting %s: no host of that address has joined", address)
	}
	again, err := newKubelet(last.child, last.id, h.options, h.log)
	if err != nil {
		return err
	}
	return h.boot(ctx, again)
}

// join boots a host and puts its pods on it. It may be repeated after an error.
func (h *Hosts) join(ctx context.Context, child *rest.Config, id identity) error {
	if id.host.Real != nil {
		return id.host.Real.Join(ctx, id.nodeName, id.providerID, map[string]string{machineNameLabel: id.machineName})
	}
	k, err := newKubelet(child, id, h.options, h.log)
	if err != nil {
		return err
	}
	if err := h.boot(ctx, k); err != nil {
		return err
	}
	return putPods(ctx, k)
}

func (h *Hosts) boot(ctx context.Context, k *kubelet) error {
	if err := h.stop(ctx, k.id.address); err != nil {
		return err
	}
	if err := k.register(ctx); err != nil {
		return err
	}
	if err := h.add(k); err != nil {
		return fmt.Errorf("starting the kubelet of Node %s: %w", k.id.nodeName, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kubelets[k.id.address] = k
	return nil
}

// stop ends the kubelet of the host at address. When it returns, that kubelet writes nothing any more.
func (h *Hosts) stop(ctx context.Context, address string) error {
	if host := h.options.host(address); host.Real != nil {
		return host.Real.Leave(ctx)
	}
	k := h.last(address)
	if k == nil {
		return nil
	}
	return k.stop(ctx)
}

func (h *Hosts) last(address string) *kubelet {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kubelets[address]
}
