package child

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

const (
	// syncTimeout bounds the first list of Nodes, which is what a new connection waits for.
	syncTimeout = 10 * time.Second
	// probeTimeout bounds one look whether the API server answers.
	probeTimeout = 2 * time.Second
)

// Connection is one child cluster, connected.
type Connection struct {
	// Reader serves from memory, stripped to what the controller needs: Nodes, the Namespace 5spot-system, and in it the ConfigMaps that carry
	// reclaim.LabelProjectedBy. Only Nodes are known to be there from the start; a read of the others waits for their first list.
	Reader client.Reader
	// Client goes straight to the API server, without throttling.
	Client client.Client

	slots         *semaphore.Weighted
	secretVersion string
	cancel        context.CancelFunc
	done          chan struct{}
}

// NodeHandler is told of every change of a Node in a connected cluster: new is nil when it is gone.
type NodeHandler func(key ClusterKey, old, new *corev1.Node)

// PlacedHandler is told that the Namespace or a ConfigMap that Connection.Reader serves came, changed or went.
type PlacedHandler func(key ClusterKey)

// connect builds a connection and returns when its Nodes are in memory. Its changes go to the cache's handlers.
func connect(ctx context.Context, log logr.Logger, key ClusterKey, kubeconfig []byte, to *Cache) (*Connection, error) {
	config, err := ParseKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	httpClient, err := httpClient(config)
	if err != nil {
		return nil, err
	}
	// Discovery takes no context: without a bound of the client's own, a server that stalls would hold a worker for ever. Watches get none.
	bounded := *httpClient
	bounded.Timeout = probeTimeout
	mapper, err := apiutil.NewDynamicRESTMapper(config, &bounded)
	if err != nil {
		return nil, fmt.Errorf("connecting to the child cluster: %w", err)
	}
	direct, err := client.New(config, client.Options{HTTPClient: &bounded, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the child cluster: %w", err)
	}
	if err := probe(ctx, direct); err != nil {
		return nil, err // asked first: the cluster below would retry on its own, silently
	}
	nodes, err := cluster.New(config, func(o *cluster.Options) {
		o.HTTPClient = httpClient
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil }
		o.Logger = log
		o.Cache = cache.Options{ByObject: served()}
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the child cluster: %w", err)
	}
	c := &Connection{Reader: nodes.GetCache(), Client: direct, slots: semaphore.NewWeighted(parallelWrites), done: make(chan struct{})}
	return c, c.start(ctx, log, nodes, key, to)
}

func (c *Connection) start(ctx context.Context, log logr.Logger, nodes cluster.Cluster, key ClusterKey, to *Cache) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	go func() {
		defer close(c.done)
		if err := nodes.Start(running); err != nil {
			log.Error(err, "the child cluster's cache ended")
		}
	}()
	syncing, stop := context.WithTimeout(running, syncTimeout)
	defer stop()
	informer, err := nodes.GetCache().GetInformer(syncing, &corev1.Node{})
	if err == nil {
		_, err = informer.AddEventHandler(nodeEvents(key, to.notify))
	}
	if err == nil {
		err = watchPlaced(syncing, nodes.GetCache(), key, to.notifyPlaced)
	}
	if err != nil {
		c.close()
		return fmt.Errorf("reading the child cluster's Nodes: %w", err)
	}
	return nil
}

func nodeEvents(key ClusterKey, onNode NodeHandler) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { onNode(key, nil, obj.(*corev1.Node)) },
		UpdateFunc: func(old, obj any) { onNode(key, old.(*corev1.Node), obj.(*corev1.Node)) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if node, ok := obj.(*corev1.Node); ok {
				onNode(key, node, nil)
			}
		},
	}
}

// close ends the connection and waits for its goroutines.
func (c *Connection) close() {
	c.cancel()
	<-c.done
}

// probe asks for one Node, because that is the permission everything else hangs on.
func probe(ctx context.Context, c client.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := c.List(ctx, &corev1.NodeList{}, client.Limit(1)); err != nil {
		return fmt.Errorf("listing the child cluster's Nodes: %w", err)
	}
	return nil
}

const (
	// writeTimeout bounds every call of an emergency, so that one that hangs costs a retry and not the removal.
	writeTimeout = 2 * time.Second
	// parallelWrites is what one child's API server gets from us at once; 110 pods are then gone in 0.1 s.
	parallelWrites = 48
)

// Do runs one short call against the child cluster: within writeTimeout, and no more than parallelWrites at once.
func (c *Connection) Do(ctx context.Context, call func(context.Context) error) error {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.slots.Release(1)
	ctx, cancel := context.WithTimeout(ctx, writeTimeout) // waiting for a slot is no fault of the call
	defer cancel()
	return call(ctx)
}
