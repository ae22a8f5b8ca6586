// Package cluster is what the installer knows of the API server's objects: its own Node, the DaemonSet that it belongs to, and the Node's
// ConfigMap; and the events that it leaves on the Node. It must not know what follows from them.
//
// What counts is what a GET says. A watch only says when it is worth asking again, but for one case: once the installer may not ask any
// more, because its rights are taken away together with the DaemonSet, the watches that are still open have the last word.
package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

const (
	dialTimeout = 3 * time.Second
	callTimeout = 5 * time.Second
	component   = "5spot-reclaim-agent-installer"
)

// Options say which objects are meant.
type Options struct {
	Config    *rest.Config
	NodeName  string
	Namespace string // of the DaemonSet
	DaemonSet string
	Version   string
	Clock     clock.Clock
}

// Cluster follows the three objects.
type Cluster struct {
	opts    Options
	http    *http.Client
	base    string
	dialer  *connrotation.Dialer
	watched []watched
	changes chan struct{}

	mu   sync.Mutex // the watches write, too
	view View
}

// Connect prepares a Cluster. Nothing is sent yet.
func Connect(o Options) (*Cluster, error) {
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout}).DialContext)
	config := rest.CopyConfig(o.Config)
	config.Dial = dialer.DialContext
	config.UserAgent = component + "/" + o.Version
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the API server's address: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to talk to the API server: %w", err)
	}
	api, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("preparing to watch the API server: %w", err)
	}
	c := &Cluster{opts: o, http: client, base: base.String(), dialer: dialer, changes: make(chan struct{}, 1)}
	c.watched = []watched{
		{api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}), o.NodeName, c.sawNode},
		{api.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}).Namespace(o.Namespace),
			o.DaemonSet, c.sawDaemonSet},
		{api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(reclaim.Namespace),
			reclaim.ConfigMapName(o.NodeName), c.sawConfigMap},
	}
	return c, nil
}

// Changes says that Look may have something new. The reader gets a tick, not the change.
func (c *Cluster) Changes() <-chan struct{} { return c.changes }

func (c *Cluster) changed() {
	select {
	case c.changes <- struct{}{}:
	default:
	}
}

// Run watches until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	defer c.dialer.CloseAll()
	var watches sync.WaitGroup
	for _, w := range c.watched {
		watches.Go(func() { w.run(ctx, c.changed) })
	}
	watches.Wait()
}
