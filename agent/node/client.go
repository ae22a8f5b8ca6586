package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

const (
	// dialTimeout and callTimeout bound one attempt; who wants more tries again.
	dialTimeout = 3 * time.Second
	callTimeout = 2 * time.Second
	// fieldManager names the agent in managedFields.
	fieldManager = "5spot-reclaim-agent"
)

// Client talks about one Node with one credential. All calls share one connection, which the watch keeps warm.
type Client struct {
	name   string
	http   *http.Client
	dialer *connrotation.Dialer
	nodes  metadata.ResourceInterface
	url    string // of the whole object: the machine id is not metadata
}

// Connect prepares a client. Nothing is sent yet.
func Connect(c Credential, version string) (*Client, error) {
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout}).DialContext)
	config := rest.CopyConfig(c.config)
	config.Dial = dialer.DialContext
	config.QPS = -1 // one Node, one writer: the client's own throttle could only delay the request
	config.UserAgent = fieldManager + "/" + version
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: the server's address: %w", c.Path, err)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Path, err)
	}
	api, err := metadata.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Path, err)
	}
	return &Client{
		name:   c.NodeName,
		http:   httpClient,
		dialer: dialer,
		nodes:  api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}),
		url:    base.JoinPath("api", "v1", "nodes", c.NodeName).String(),
	}, nil
}

// Close ends every connection.
func (c *Client) Close() { c.dialer.CloseAll() }

// Get reads the Node.
func (c *Client) Get(ctx context.Context) (Node, error) {
	var n Node
	err := c.call(ctx, "reading Node "+c.name, func(ctx context.Context) error {
		m, err := c.nodes.Get(ctx, c.name, metav1.GetOptions{})
		if err == nil {
			n = fromMetadata(m)
		}
		return err
	})
	return n, err
}

// Annotate sets annotations if the Node is still the one that was read: with the resourceVersion in the patch, an old one is a conflict.
func (c *Client) Annotate(ctx context.Context, read Node, annotations map[string]string) (Node, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": read.ResourceVersion,
		"annotations":     annotations,
	}})
	if err != nil {
		return Node{}, fmt.Errorf("encoding the patch of Node %s: %w", c.name, err)
	}
	var n Node
	err = c.call(ctx, "annotating Node "+c.name, func(ctx context.Context) error {
		m, err := c.nodes.Patch(ctx, c.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		if err == nil {
			n = fromMetadata(m)
		}
		return err
	})
	return n, err
}

// MachineID is what the kubelet of that Node reported as /etc/machine-id.
func (c *Client) MachineID(ctx context.Context) (string, error) {
	var whole struct {
		Status struct {
			NodeInfo struct {
				MachineID string `json:"machineID"`
			} `json:"nodeInfo"`
		} `json:"status"`
	}
	err := c.call(ctx, "reading the machine id of Node "+c.name, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
		if err != nil {
			return err
		}
		response, err := c.http.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the API server answered %s", response.Status)
		}
		return json.NewDecoder(response.Body).Decode(&whole)
	})
	return whole.Status.NodeInfo.MachineID, err
}

// list reads the Node through a list, whose resourceVersion a watch can start from. Nil when there is no such Node.
func (c *Client) list(ctx context.Context) (*Node, string, error) {
	var found *Node
	var version string
	err := c.call(ctx, "reading Node "+c.name, func(ctx context.Context) error {
		l, err := c.nodes.List(ctx, metav1.ListOptions{FieldSelector: c.own()})
		if err != nil {
			return err
		}
		version = l.ResourceVersion
		if len(l.Items) > 0 {
			n := fromMetadata(&l.Items[0])
			found = &n
		}
		return nil
	})
	return found, version, err
}

// watch follows the Node. The server ends it after five to ten minutes, so that a fleet does not come back all at once.
func (c *Client) watch(ctx context.Context, version string) (watch.Interface, error) {
	seconds := 300 + rand.Int64N(300)
	w, err := c.nodes.Watch(ctx, metav1.ListOptions{FieldSelector: c.own(), ResourceVersion: version, TimeoutSeconds: &seconds})
	return w, classify("watching Node "+c.name, err)
}

func (c *Client) own() string {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, c.name).String()
}

// call bounds one attempt. A call that was not answered in time is taken as proof of a dead connection: HTTP/2 would keep using it
// for 45 seconds.
func (c *Client) call(ctx context.Context, doing string, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := do(bounded)
	if errors.Is(bounded.Err(), context.DeadlineExceeded) {
		c.dialer.CloseAll()
	}
	return classify(doing, err)
}
