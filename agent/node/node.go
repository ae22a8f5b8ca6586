// Package node is the agent's link to its own Node on the API server: under which name and with which credential, whether that Node
// is this machine, what its annotations say, and the one PATCH that changes them. Only metadata is read, which keeps the agent at
// half the weight of a typed client. It must not know processes, configuration, or when a request is due.
package node

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Node is what the agent needs to know of its own Node.
type Node struct {
	Name            string
	UID             string
	ResourceVersion string
	Labels          map[string]string
	Annotations     map[string]string
}

func fromMetadata(m *metav1.PartialObjectMetadata) Node {
	return Node{
		Name:            m.Name,
		UID:             string(m.UID),
		ResourceVersion: m.ResourceVersion,
		Labels:          m.Labels,
		Annotations:     m.Annotations,
	}
}

// Older says that n is an earlier state of the Node that other is a state of.
func (n Node) Older(other Node) bool {
	order, err := resourceversion.CompareResourceVersion(n.ResourceVersion, other.ResourceVersion)
	return n.UID == other.UID && err == nil && order < 0
}

// Standing is how the agent stands with its Node.
type Standing string

const (
	// Present means that the Node is there, and is this machine.
	Present Standing = "present"
	// Away means that the API server does not answer. What was last known still counts.
	Away Standing = "away"
	// Gone means that the API server says that there is no such Node.
	Gone Standing = "gone"
	// NoCredential means that the kubeconfig is missing, unusable, expired or refused.
	NoCredential Standing = "no credential"
	// Foreign means that a Node of that name is there, but it is another machine.
	Foreign Standing = "foreign"
)

// View is what is known of the Node at one moment.
type View struct {
	Standing Standing
	// Node as last seen. Empty until it was seen, and again once it is Gone or Foreign.
	Node Node
	// Detail says in words why the Standing is not Present.
	Detail string
}

// What a write can fail with. Anything else is the API server being away.
var (
	// ErrConflict: the Node has changed since it was read.
	ErrConflict = errors.New("the Node has changed in the meantime")
	// ErrGone: there is no such Node.
	ErrGone = errors.New("there is no such Node")
	// ErrForbidden: a policy or the authorizer says no.
	ErrForbidden = errors.New("forbidden by the API server")
	// ErrRefused: the API server does not accept the credential.
	ErrRefused = errors.New("credential refused by the API server")
	// ErrNoCredential: there is none on this machine that could be used.
	ErrNoCredential = errors.New("no usable credential")
)

// classify puts an API error under one of the errors above, and keeps its text.
func classify(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrConflict, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrGone, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrForbidden, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrRefused, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
