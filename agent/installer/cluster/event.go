package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// eventNamespace is where events about objects without a namespace are kept.
const eventNamespace = "default"

// Warn leaves a Warning on the Node. Its name follows from what it says, so that the same is never said twice while the API server
// remembers it.
func (c *Cluster) Warn(ctx context.Context, reason, message string) error {
	c.mu.Lock()
	uid := c.view.Node.UID
	c.mu.Unlock()
	sum := sha256.Sum256([]byte(uid + "\n" + reason + "\n" + message))
	now := c.opts.Clock.Now().UTC().Format(time.RFC3339)
	event, err := json.Marshal(map[string]any{
		"metadata":       map[string]any{"name": fmt.Sprintf("%s.%x", c.opts.NodeName, sum[:8]), "namespace": eventNamespace},
		"involvedObject": map[string]any{"apiVersion": "v1", "kind": "Node", "name": c.opts.NodeName, "uid": uid},
		"reason":         reason, "message": message, "type": "Warning",
		"source": map[string]any{"component": component, "host": c.opts.NodeName},
		"count":  1, "firstTimestamp": now, "lastTimestamp": now,
	})
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodPost, event, &struct{}{}, "api/v1/namespaces", eventNamespace, "events")
	var s *statusError
	if errors.As(err, &s) && s.code == http.StatusConflict {
		return nil
	}
	if err != nil {
		return fmt.Errorf("leaving an event on Node %s: %w", c.opts.NodeName, err)
	}
	return nil
}
