package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/lab"
)

// evictions are the lines of the child's audit log that tell of one.
func evictions(t *testing.T, l *lab.Lab) []string {
	t.Helper()
	log, err := os.Open(l.Child.AuditLog)
	require.NoError(t, err)
	defer log.Close()
	var found []string
	deletes := 0
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string
			ObjectRef struct{ Resource, Subresource string }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		if event.ObjectRef.Subresource == "eviction" {
			found = append(found, lines.Text())
		}
		if event.Verb == "delete" && event.ObjectRef.Resource == "pods" {
			deletes++
		}
	}
	require.NoError(t, lines.Err())
	require.Positive(t, deletes, "the audit log does not even show deletes")
	return found
}

// comesBack registers a Node under its kubelet's still valid credential, with an old request on it, as a host does that was off meanwhile.
func comesBack(ctx context.Context, t *testing.T, l *lab.Lab, name string) {
	t.Helper()
	user, err := l.Child.Node(name)
	require.NoError(t, err)
	kubelet, err := client.New(user.Config(), client.Options{})
	require.NoError(t, err)
	require.NoError(t, kubelet.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{reclaim.AnnotationRequested: "true"},
	}}))
}
