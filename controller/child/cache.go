package child

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// The kubeconfig Secret, as Cluster API writes it.
const (
	SecretType   = "cluster.x-k8s.io/secret"
	SecretKey    = "value"
	secretSuffix = "-kubeconfig"
)

// ClusterKey names a child cluster: the namespace of its ScheduledMachines, and spec.clusterName.
type ClusterKey types.NamespacedName

func (k ClusterKey) String() string { return types.NamespacedName(k).String() }

// Key is the child cluster of a ScheduledMachine.
func Key(sm *v1alpha1.ScheduledMachine) ClusterKey {
	return ClusterKey{Namespace: sm.Namespace, Name: sm.Spec.ClusterName}
}

// ErrConnecting is why a cluster that was just asked for is not connected.
var ErrConnecting = errors.New("connecting")

// Cache holds the connections. All methods may be called at once from many goroutines, and none but Reconnect waits for a child cluster.
type Cache struct {
	secrets client.Reader
	log     logr.Logger

	mu       sync.RWMutex
	clusters map[ClusterKey]entry
	handlers []NodeHandler
	placed   []PlacedHandler
}

type entry struct {
	connection *Connection
	err        error
}

// NewCache returns a Cache that reads kubeconfig Secrets through secrets.
func NewCache(secrets client.Reader, log logr.Logger) *Cache {
	return &Cache{secrets: secrets, log: log, clusters: map[ClusterKey]entry{}}
}

// OnNode adds a handler for the Nodes of all child clusters, and tells it of those that are known already, some of them perhaps twice.
func (c *Cache) OnNode(ctx context.Context, h NodeHandler) error {
	c.mu.Lock()
	c.handlers = append(c.handlers, h)
	connected := maps.Clone(c.clusters)
	c.mu.Unlock()
	for key, e := range connected {
		if e.connection == nil {
			continue
		}
		var nodes corev1.NodeList
		if err := e.connection.Reader.List(ctx, &nodes); err != nil {
			return fmt.Errorf("listing the Nodes of %s: %w", key, err)
		}
		for i := range nodes.Items {
			h(key, nil, &nodes.Items[i])
		}
	}
	return nil
}

// OnPlaced adds a handler for what is placed in all child clusters beside their Nodes.
func (c *Cache) OnPlaced(h PlacedHandler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.placed = append(c.placed, h)
}

// Get returns the connection, or why there is none.
func (c *Cache) Get(key ClusterKey) (*Connection, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.clusters[key]
	if !ok {
		return nil, ErrConnecting
	}
	return e.connection, e.err
}

// Count is how many clusters are connected, and how many should be but are not.
func (c *Cache) Count() (connected, lost int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, e := range c.clusters {
		if e.connection != nil {
			connected++
		} else {
			lost++
		}
	}
	return connected, lost
}

// Reconnect makes the connection what the Secret says, and looks whether it still works. It may wait for that child cluster, a few
// seconds at most. changed is true when Get answers otherwise than before.
func (c *Cache) Reconnect(ctx context.Context, key ClusterKey) (changed bool, err error) {
	secret, err := c.secret(ctx, key)
	if err != nil {
		return c.set(key, entry{err: err}), err
	}
	old, _ := c.Get(key)
	if old != nil && old.secretVersion == secret.ResourceVersion {
		if err := probe(ctx, old.Client); err != nil {
			return c.set(key, entry{err: err}), err
		}
		return false, nil
	}
	connection, err := connect(ctx, c.log.WithValues("cluster", key.String()), key, secret.Data[SecretKey], c)
	if err != nil {
		return c.set(key, entry{err: err}), err
	}
	connection.secretVersion = secret.ResourceVersion
	return c.set(key, entry{connection: connection}), nil
}

// Disconnect forgets a cluster that nobody needs.
func (c *Cache) Disconnect(key ClusterKey) {
	c.set(key, entry{err: ErrConnecting}) // for who asks before it is forgotten: never neither connection nor error
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.clusters, key)
}

// Close ends all connections.
func (c *Cache) Close() {
	c.mu.RLock()
	keys := make([]ClusterKey, 0, len(c.clusters))
	for key := range c.clusters {
		keys = append(keys, key)
	}
	c.mu.RUnlock()
	for _, key := range keys {
		c.Disconnect(key)
	}
}

// set replaces an entry and closes the connection that it held.
func (c *Cache) set(key ClusterKey, e entry) (changed bool) {
	c.mu.Lock()
	old := c.clusters[key]
	c.clusters[key] = e
	c.mu.Unlock()
	if old.connection != nil && old.connection != e.connection {
		go old.connection.close() // its last requests may hang until their deadline
	}
	return old.connection != e.connection || text(old.err) != text(e.err)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (c *Cache) notifyPlaced(key ClusterKey) {
	c.mu.RLock()
	handlers := c.placed
	c.mu.RUnlock()
	for _, h := range handlers {
		h(key)
	}
}

func (c *Cache) notify(key ClusterKey, old, node *corev1.Node) {
	c.mu.RLock()
	handlers := c.handlers
	c.mu.RUnlock()
	for _, h := range handlers {
		h(key, old, node)
	}
}

func (c *Cache) secret(ctx context.Context, key ClusterKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name + secretSuffix}
	err := c.secrets.Get(ctx, name, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("secret %s does not exist; Cluster API writes it when the control plane is up", name)
	case err != nil:
		return nil, fmt.Errorf("reading secret %s: %w", name, err)
	case secret.Type != SecretType:
		return nil, fmt.Errorf("secret %s is of type %q, not %s; is it Cluster API's?", name, secret.Type, SecretType)
	case len(secret.Data[SecretKey]) == 0:
		return nil, fmt.Errorf("secret %s has nothing under the key %q", name, SecretKey)
	}
	return secret, nil
}

// How often a connection is looked at: the first bounds how long a child that is back stays unreachable, the second how long one that
// went away goes unnoticed while nothing happens in it.
const (
	retryAfter = 2 * time.Second
	probeEvery = 10 * time.Second
)
