package reclaimer

import (
	"context"
	"errors"
	"fmt"

	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// Manual is the reason of a request that the owner makes by hand.
func Manual(text string) string { return "manual: " + text }

// ByHand puts a request on the own Node and returns the Node as it then is, with that request or an earlier one. It waits for an API
// server that is away, and says so; what waiting cannot mend is an error.
func ByHand(ctx context.Context, link Node, request reclaim.Request, say func(string)) (node.Node, error) {
	for {
		select {
		case <-ctx.Done():
			return node.Node{}, ctx.Err()
		case v := <-link.Views():
			switch {
			case off(v.Standing):
				return node.Node{}, errors.New(v.Detail)
			case v.Standing == node.Present:
				return persist(ctx, link, v.Node, request, say)
			}
			say("the API server does not answer, trying on: " + v.Detail)
		}
	}
}

// persist repeats Store through an outage.
func persist(ctx context.Context, api API, read node.Node, request reclaim.Request, say func(string)) (node.Node, error) {
	pauses := node.Backoff()
	for {
		stored, err := Store(ctx, api, read, request.Annotations())
		switch {
		case err == nil:
			return stored, nil
		case ctx.Err() != nil:
			return node.Node{}, ctx.Err()
		case errors.Is(err, node.ErrForbidden), errors.Is(err, node.ErrGone), errors.Is(err, node.ErrRefused):
			return node.Node{}, fmt.Errorf("the request was not stored: %w", err)
		}
		say("not stored yet, trying on: " + err.Error())
		node.Sleep(ctx, pauses.Step())
	}
}
