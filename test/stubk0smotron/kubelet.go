package stubk0smotron

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// kubelet is one run of a host's kubelet, from boot to stop. It is a manager.Runnable, started once.
type kubelet struct {
	child   *rest.Config
	client  kubernetes.Interface
	id      identity
	options Options
	log     logr.Logger
	chores  workqueue.TypedDelayingInterface[chore]

	halt     chan struct{}
	ended    chan struct{}
	haltOnce sync.Once
}

func newKubelet(child *rest.Config, id identity, options Options, log logr.Logger) (*kubelet, error) {
	c, err := kubeletClient(child, id.nodeName)
	if err != nil {
		return nil, err
	}
	return &kubelet{
		child:   child,
		client:  c,
		id:      id,
		options: options,
		log:     log.WithValues("node", id.nodeName),
		chores:  workqueue.NewTypedDelayingQueue[chore](),
		halt:    make(chan struct{}),
		ended:   make(chan struct{}),
	}, nil
}

// Start runs the kubelet until it is stopped or ctx ends.
func (k *kubelet) Start(ctx context.Context) error {
	defer close(k.ended)
	ctx, cancel := context.WithCancel(logr.NewContext(ctx, k.log)) // client-go looks for it there
	defer cancel()
	pods, err := k.podInformer()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer k.chores.ShutDown()
	defer cancel()
	running.Go(func() { pods.RunWithContext(ctx) })
	running.Go(func() { k.doChores(ctx) })
	running.Go(func() { k.sendHeartbeats(ctx) })
	select {
	case <-k.halt:
	case <-ctx.Done():
	}
	return nil
}

// stop ends the kubelet and waits for its last write.
func (k *kubelet) stop(ctx context.Context) error {
	k.haltOnce.Do(func() { close(k.halt) })
	select {
	case <-k.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopping the kubelet of Node %s: %w", k.id.nodeName, ctx.Err())
	}
}

// podInformer watches the pods of this Node only: a kubelet may not see others.
func (k *kubelet) podInformer() (cache.SharedIndexInformer, error) {
	own := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", k.id.nodeName).String()
	})
	pods := informers.NewSharedInformerFactoryWithOptions(k.client, 0, own).Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { k.observe(pod.(*corev1.Pod)) },
		UpdateFunc: func(_, pod any) { k.observe(pod.(*corev1.Pod)) },
	})
	if err != nil {
		return nil, fmt.Errorf("watching the pods of Node %s: %w", k.id.nodeName, err)
	}
	return pods, nil
}

func (k *kubelet) sendHeartbeats(ctx context.Context) {
	ticker := time.NewTicker(k.options.HeartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := k.heartbeat(ctx); err != nil && ctx.Err() == nil {
				k.log.Error(err, "Heartbeat failed")
			}
		}
	}
}
