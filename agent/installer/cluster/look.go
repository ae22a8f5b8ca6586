package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

// maxAnswer bounds what is read of an answer. A ConfigMap has at most 1 MiB, and JSON may need six bytes for one.
const maxAnswer = 8 << 20

// errNotFound is the API server's 404.
var errNotFound = errors.New("not found")

// meta is what is needed of an object's metadata.
type meta struct {
	UID               string            `json:"uid"`
	Generation        int64             `json:"generation"`
	Labels            map[string]string `json:"labels"`
	DeletionTimestamp *string           `json:"deletionTimestamp"`
}

// Look asks for all three objects. What cannot be had stays as it was last known, and Fault says why.
func (c *Cluster) Look(ctx context.Context) View {
	fault := errors.Join(c.askNode(ctx), c.askDaemonSet(ctx), c.askConfigMap(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.view
	v.Fault = fault
	return v
}

func (c *Cluster) askNode(ctx context.Context) error {
	var n struct {
		Metadata meta `json:"metadata"`
		Status   struct {
			NodeInfo struct {
				MachineID string `json:"machineID"`
			} `json:"nodeInfo"`
		} `json:"status"`
	}
	err := c.get(ctx, &n, "api/v1/nodes", c.opts.NodeName)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, errNotFound):
		c.missNode()
	case err != nil:
		return fmt.Errorf("reading Node %s: %w", c.opts.NodeName, err)
	default:
		c.view.Node = Node{Sight: There, At: c.opts.Clock.Now(), UID: n.Metadata.UID, Labels: n.Metadata.Labels, MachineID: n.Status.NodeInfo.MachineID}
	}
	return nil
}

func (c *Cluster) missNode() {
	now := c.opts.Clock.Now()
	since := now
	if c.view.Node.Sight == Absent {
		since = c.view.Node.AbsentSince
	}
	c.view.Node = Node{Sight: Absent, At: now, AbsentSince: since}
}

func (c *Cluster) askDaemonSet(ctx context.Context) error {
	var d struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			Template struct {
				Spec struct {
					NodeSelector map[string]string `json:"nodeSelector"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	err := c.get(ctx, &d, "apis/apps/v1/namespaces", c.opts.Namespace, "daemonsets", c.opts.DaemonSet)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Clock.Now()
	switch {
	case errors.Is(err, errNotFound):
		c.view.DaemonSet = DaemonSet{Sight: Absent, At: now}
	case err != nil:
		return fmt.Errorf("reading DaemonSet %s/%s: %w", c.opts.Namespace, c.opts.DaemonSet, err)
	default:
		c.view.DaemonSet = DaemonSet{Sight: There, At: now, UID: d.Metadata.UID, Generation: d.Metadata.Generation,
			Deleting: d.Metadata.DeletionTimestamp != nil, NodeSelector: d.Spec.Template.Spec.NodeSelector}
	}
	return nil
}

func (c *Cluster) askConfigMap(ctx context.Context) error {
	var m struct {
		Data map[string]string `json:"data"`
	}
	name := reclaim.ConfigMapName(c.opts.NodeName)
	err := c.get(ctx, &m, "api/v1/namespaces", reclaim.Namespace, "configmaps", name)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, errNotFound):
		c.view.ConfigMap = ConfigMap{Sight: Absent, At: c.opts.Clock.Now()}
	case err != nil:
		return fmt.Errorf("reading ConfigMap %s/%s: %w", reclaim.Namespace, name, err)
	default:
		text, has := m.Data[reclaim.ConfigKey]
		c.view.ConfigMap = ConfigMap{Sight: There, At: c.opts.Clock.Now(), Text: text, HasKey: has}
	}
	return nil
}

// get reads one object.
func (c *Cluster) get(ctx context.Context, into any, path ...string) error {
	return c.call(ctx, http.MethodGet, nil, into, path...)
}

// call bounds one exchange. A call that was not answered in time is taken as proof of a dead connection.
func (c *Cluster) call(ctx context.Context, method string, body []byte, into any, path ...string) error {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.exchange(bounded, method, body, into, path)
	if errors.Is(bounded.Err(), context.DeadlineExceeded) {
		c.dialer.CloseAll()
	}
	return err
}

func (c *Cluster) exchange(ctx context.Context, method string, body []byte, into any, path []string) error {
	address, err := url.JoinPath(c.base, path...)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound && missing(answer):
		return errNotFound
	case response.StatusCode/100 != 2:
		return refused(response, answer)
	}
	return json.Unmarshal(answer, into)
}

// missing says that a 404 is the API server's word on an object. One without is a path that nobody serves, or comes from something in between,
// and is no reason to remove anything.
func missing(answer []byte) bool {
	var s struct {
		Kind, Reason string
		Details      struct{ Name string }
	}
	return json.Unmarshal(answer, &s) == nil && s.Kind == "Status" && s.Reason == "NotFound" && s.Details.Name != ""
}

// statusError is an answer that is not a success.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return "the API server says: " + e.message }

// refused keeps the API server's own words, where it has any.
func refused(response *http.Response, answer []byte) error {
	e := &statusError{code: response.StatusCode, message: response.Status}
	var s struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &s) == nil && s.Message != "" {
		e.message = s.Message
	}
	return e
}
