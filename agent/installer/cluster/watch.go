package cluster

import (
	"context"
	"maps"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"5spot.finos.org/node-reclaim/agent/node"
)

// steady is how long a watch has to last for the next one to follow without a growing pause: something in between may end each at once.
const steady = 5 * time.Second

// watched is an object to watch.
type watched struct {
	api  metadata.ResourceInterface
	name string
	// saw takes what the watch says, and reports whether it is worth a look.
	saw func(m *metav1.PartialObjectMetadata, gone bool) bool
}

// run watches until ctx ends. Without a version to start from, the server tells first what is there; each watch ends after five to ten
// minutes, so that a fleet does not come back all at once.
func (w watched) run(ctx context.Context, changed func()) {
	pauses := node.Backoff()
	for ctx.Err() == nil {
		seconds := 300 + rand.Int64N(300)
		own := fields.OneTermEqualSelector(metav1.ObjectNameField, w.name).String()
		events, err := w.api.Watch(ctx, metav1.ListOptions{FieldSelector: own, TimeoutSeconds: &seconds})
		if err == nil {
			opened := time.Now()
			w.follow(events, changed)
			if time.Since(opened) > steady {
				pauses = node.Backoff()
			}
			changed() // it may have ended because of what happened
		}
		node.Sleep(ctx, pauses.Step())
	}
}

func (w watched) follow(events watch.Interface, changed func()) {
	defer events.Stop()
	for event := range events.ResultChan() {
		m, isObject := event.Object.(*metav1.PartialObjectMetadata)
		if !isObject {
			return
		}
		if w.saw(m, event.Type == watch.Deleted) {
			changed()
		}
	}
}

// sawNode leaves a kubelet's heartbeats alone. Only a look can tell the machine id of a Node that has come anew.
func (c *Cluster) sawNode(m *metav1.PartialObjectMetadata, gone bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := &c.view.Node
	if known.Sight != There || known.UID != string(m.UID) {
		return true
	}
	if gone {
		c.missNode()
		return true
	}
	same := maps.Equal(known.Labels, m.Labels)
	known.Labels, known.At = m.Labels, c.opts.Clock.Now()
	return !same
}

// sawDaemonSet leaves the status alone, which changes with every pod of the fleet: else each rollout has all installers ask for everything
// once per pod.
func (c *Cluster) sawDaemonSet(m *metav1.PartialObjectMetadata, gone bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := &c.view.DaemonSet
	if known.Sight != There || known.UID != string(m.UID) {
		return true
	}
	known.At = c.opts.Clock.Now()
	if gone {
		*known = DaemonSet{Sight: Absent, At: known.At}
		return true
	}
	deleting := m.DeletionTimestamp != nil
	news := known.Deleting != deleting || known.Generation != m.Generation
	known.Deleting = deleting
	return news
}

// sawConfigMap: the text is not metadata.
func (c *Cluster) sawConfigMap(*metav1.PartialObjectMetadata, bool) bool { return true }
