package controlplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// PodRemovals counts how pods were asked to go.
type PodRemovals struct {
	// Deletes is the number of pod DELETEs by user agent.
	Deletes map[string]int
	// Evictions is the number of evictions asked for, by anybody.
	Evictions int
}

// PodRemovals reads the API server's audit log.
func (c *ControlPlane) PodRemovals() (PodRemovals, error) {
	removals := PodRemovals{Deletes: map[string]int{}}
	log, err := os.Open(c.AuditLog)
	if err != nil {
		return removals, err
	}
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string
			UserAgent string
			ObjectRef struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return removals, fmt.Errorf("reading %s: %w", c.AuditLog, err)
		}
		switch {
		case event.ObjectRef.Subresource == "eviction":
			removals.Evictions++
		case event.Verb == "delete" && event.ObjectRef.Resource == "pods":
			removals.Deletes[event.UserAgent]++
		}
	}
	return removals, lines.Err()
}
