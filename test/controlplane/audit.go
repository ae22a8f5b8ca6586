package controlplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// AuditEvent is what the audit log knows of one request.
type AuditEvent struct {
	Verb       string
	RequestURI string
	UserAgent  string
	User       struct{ Username string }
	ObjectRef  struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// ResponseStatus is empty while a request goes on.
	ResponseStatus struct{ Code int }
}

// Audit calls each with every event of the API server's audit log.
func (c *ControlPlane) Audit(each func(AuditEvent)) error {
	log, err := os.Open(c.AuditLog)
	if err != nil {
		return err
	}
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event AuditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return fmt.Errorf("reading %s: %w", c.AuditLog, err)
		}
		each(event)
	}
	return lines.Err()
}

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
	err := c.Audit(func(event AuditEvent) {
		switch {
		case event.ObjectRef.Subresource == "eviction":
			removals.Evictions++
		case event.Verb == "delete" && event.ObjectRef.Resource == "pods":
			removals.Deletes[event.UserAgent]++
		}
	})
	return removals, err
}
