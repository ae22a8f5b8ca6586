package cluster

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// A DaemonSet's status changes with every pod of the fleet that gets ready.
func TestTheStatusOfTheDaemonSetIsNoReasonToLook(t *testing.T) {
	c := &Cluster{opts: Options{Clock: clock.RealClock{}}, view: View{DaemonSet: DaemonSet{Sight: There, UID: "u", Generation: 3}}}
	deleted := metav1.Now()
	for _, row := range []struct {
		name string
		meta metav1.ObjectMeta
		gone bool
		look bool
	}{
		{name: "status", meta: metav1.ObjectMeta{UID: "u", Generation: 3, ResourceVersion: "9"}},
		{name: "spec", meta: metav1.ObjectMeta{UID: "u", Generation: 4}, look: true},
		{name: "deleted", meta: metav1.ObjectMeta{UID: "u", Generation: 3, DeletionTimestamp: &deleted}, look: true},
		{name: "another one", meta: metav1.ObjectMeta{UID: "v", Generation: 3}, look: true},
		{name: "gone", meta: metav1.ObjectMeta{UID: "u", Generation: 3}, gone: true, look: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.look, c.sawDaemonSet(&metav1.PartialObjectMetadata{ObjectMeta: row.meta}, row.gone))
		})
	}
}

// A proxy in between, or a server that is about to go, accepts a watch and ends it at once.
func TestWatchesThatEndAtOnceAreNotReopenedInAHurry(t *testing.T) {
	var watches atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		watches.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
	}))
	defer server.Close()
	c, err := Connect(Options{Config: &rest.Config{Host: server.URL}, NodeName: "ws-1", Namespace: "n", DaemonSet: "d", Clock: clock.RealClock{}})
	require.NoError(t, err)
	f := &fixture{t: t, Cluster: c}
	defer f.run()()
	require.Never(t, func() bool { return watches.Load() > 3*9 }, 4*time.Second, 100*time.Millisecond, "each pause is twice the last")
}

func TestA404ThatIsNotTheAPIServersProvesNothing(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, err := Connect(Options{Config: &rest.Config{Host: server.URL}, NodeName: "ws-1", Namespace: "n", DaemonSet: "d", Clock: clock.RealClock{}})
	require.NoError(t, err)
	v := c.Look(t.Context())
	require.ErrorContains(t, v.Fault, "404 Not Found")
	require.Equal(t, Unknown, v.Node.Sight)
	require.Equal(t, Unknown, v.DaemonSet.Sight)
}
