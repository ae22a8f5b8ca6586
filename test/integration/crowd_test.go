package integration

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

const (
	// hanging child clusters are more than the workers that connect to child clusters.
	hanging = 25
	// queued machines are all reconciled anew, several times, while a removal runs.
	queued = 1000
)

// Neither clusters that accept a connection and then say nothing, nor schedule work in plenty, are in the way of a removal.
func TestNobodyElsesTroubleDelaysARemoval(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("crowd-1", "10.0.8.1", "java")
	active(t, l, sm)
	silent := silentServer(t)
	t.Cleanup(func() { removeCrowd(t, l) })
	for i := range hanging {
		cluster := fmt.Sprintf("silent-%d", i)
		secret(t, l, cluster, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://" + silent })
		require.NoError(t, joinCrowd(ctx, l, cluster, cluster))
	}
	// Created by many at a time, so that they are there together.
	var lanes errgroup.Group
	lanes.SetLimit(16)
	for i := range queued {
		lanes.Go(func() error { return joinCrowd(ctx, l, fmt.Sprintf("queued-%d", i), lab.Cluster) })
	}
	require.NoError(t, lanes.Wait())
	require.NoError(t, annotate(t, l, "crowd-1", "crowd-1", "5spot.finos.org/reclaim-requested=true"))
	asked := time.Now()
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	took := read(t, l, sm).Status.Reclaim.NodeDeletedAt.Sub(asked)
	t.Logf("from the request until the Node was gone: %s", took.Round(time.Millisecond))
	require.Less(t, took, 5*time.Second)
}

// silentServer accepts connections and never answers.
func silentServer(t *testing.T) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	}()
	return listener.Addr().String()
}

var crowd = client.MatchingLabels{"crowd": "true"}

// joinCrowd creates a ScheduledMachine that has no Machine.
func joinCrowd(ctx context.Context, l *lab.Lab, name, cluster string) error {
	sm := lab.ScheduledMachine(name, "10.0.8.2", "java")
	sm.Labels, sm.Spec.ClusterName, sm.Spec.Schedule.Enabled = crowd, cluster, new(false)
	return l.Admin.Create(ctx, sm)
}

func removeCrowd(t *testing.T, l *lab.Lab) {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, l.Admin.DeleteAllOf(ctx, &v1alpha1.ScheduledMachine{}, client.InNamespace(lab.Namespace), crowd))
	require.Eventually(t, func() bool {
		var left v1alpha1.ScheduledMachineList
		return l.Admin.List(ctx, &left, client.InNamespace(lab.Namespace), crowd) == nil && len(left.Items) == 0
	}, 4*patience, poll)
}
