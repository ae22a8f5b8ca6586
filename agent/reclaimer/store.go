package reclaimer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// API reads and writes the own Node.
type API interface {
	Get(ctx context.Context) (node.Node, error)
	// Annotate fails with node.ErrConflict when the Node is no longer as it was read.
	Annotate(ctx context.Context, read node.Node, annotations map[string]string) (node.Node, error)
}

// Store puts the annotations of a request on the Node that was read, and returns the Node as it then is. A request that is there already
// stays: the first writer wins. It reads again as often as others get in between; any other failure is the caller's.
func Store(ctx context.Context, api API, read node.Node, annotations map[string]string) (node.Node, error) {
	uid := read.UID
	for {
		if _, there := reclaim.RequestFrom(read.Annotations, time.Time{}); there {
			return read, nil
		}
		written, err := api.Annotate(ctx, read, annotations)
		if !errors.Is(err, node.ErrConflict) {
			return written, err
		}
		if read, err = api.Get(ctx); err != nil {
			return node.Node{}, err
		}
		if read.UID != uid {
			return node.Node{}, fmt.Errorf("%w: Node %s was replaced", node.ErrGone, read.Name)
		}
	}
}
