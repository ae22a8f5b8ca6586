package controlplane_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

func TestANodeMayWriteOnlyItself(t *testing.T) {
	cp := controlplane.ForTest(t, controlplane.Options{})
	user, err := cp.Node("ws-1")
	require.NoError(t, err)
	kubelet, err := client.New(user.Config(), client.Options{})
	require.NoError(t, err)
	ctx := context.Background()
	require.NoError(t, kubelet.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ws-1"}}))
	err = kubelet.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ws-2"}})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}

func TestClusterAPIStarts(t *testing.T) {
	cp := controlplane.ForTest(t, controlplane.Options{CAPI: true})
	cp.CAPIForTest(t)
}
