package stubk0smotron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

// The stop takes much longer than a kill, so that a pod which survives it was left alone.
const (
	podKillTime  = 500 * time.Millisecond
	hostStopTime = 2 * time.Second
)

// Addresses of the hosts, and what is special about each.
const (
	plainHost    = "10.0.0.1"
	namedHost    = "10.0.0.2"
	busyHost     = "10.0.0.3"
	stoppingHost = "10.0.0.4"
	nodelessHost = "10.0.0.5"
)

func describeHost(address string) stubk0smotron.Host {
	app := func(name string) stubk0smotron.Pods {
		return stubk0smotron.Pods{Name: name, Count: 2, Labels: map[string]string{"app": name}}
	}
	switch address {
	case namedHost:
		return stubk0smotron.Host{Hostname: "workstation.example", MachineID: "0123456789abcdef0123456789abcdef"}
	case busyHost:
		guarded := app("guarded")
		guarded.Namespace, guarded.ForbidEviction = "guarded", true
		daemon, mirror, job := app("daemon"), app("mirror"), app("job")
		daemon.Kind, mirror.Kind = stubk0smotron.DaemonSetPod, stubk0smotron.MirrorPod
		job.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
		return stubk0smotron.Host{Pods: []stubk0smotron.Pods{guarded, daemon, mirror, job}}
	case stoppingHost, nodelessHost:
		return stubk0smotron.Host{Pods: []stubk0smotron.Pods{app(appOn(address))}}
	default:
		return stubk0smotron.Host{}
	}
}

// appOn is the value of the label app of the pods on a host.
func appOn(address string) string { return "on-" + strings.ReplaceAll(address, ".", "-") }

func TestWithRealClusterAPI(t *testing.T) {
	e := newEnvironment(t, stubk0smotron.Options{
		PodKillTime:       podKillTime,
		HostStopTime:      hostStopTime,
		HeartbeatInterval: 200 * time.Millisecond,
		Host:              describeHost,
	})
	t.Run("a Machine becomes a Node, leaves, and comes back", e.aMachineComesAndGoes)
	t.Run("useSystemHostname names the Node after the host", e.theHostNamesItsNode)
	t.Run("a host brings pods of every kind", e.aHostBringsPods)
	t.Run("a deleted Node stays away until its host reboots", e.aDeletedNodeStaysAway)
	t.Run("nothing is finished once the host's stop has begun", e.aStoppingHostFinishesNothing)
}

func (e *environment) aMachineComesAndGoes(t *testing.T) {
	workstation := machine{name: "ws-1", address: plainHost, providerVersion: "v1beta1"}
	machine := e.join(t, workstation)
	nodeName, _, _ := unstructured.NestedString(machine.Object, "status", "nodeRef", "name")
	require.Equal(t, "ws-1", nodeName)

	node := e.node(t, "ws-1")
	require.Equal(t, "ws-1", node.Labels["k0smotron.io/machine-name"])
	require.Equal(t, "remote-machine://10.0.0.1:22", node.Spec.ProviderID)
	require.Len(t, node.Status.NodeInfo.MachineID, 32)
	require.Equal(t, "v1.37.2", node.Status.NodeInfo.KubeletVersion)
	e.awaitHeartbeatAfter(t, node)
	e.requireStatusInBothVersions(t, "ws-1")

	require.NoError(t, e.management.Delete(t.Context(), machine))
	awaitGone(t, e.management, machine)
	require.True(t, gone(t, e.management, remoteMachine("ws-1")), "RemoteMachine")
	require.True(t, gone(t, e.child, node), "Node")

	e.join(t, workstation)
	require.NotEqual(t, node.UID, e.node(t, "ws-1").UID)
}

func (e *environment) awaitHeartbeatAfter(t *testing.T, node *corev1.Node) {
	t.Helper()
	first := ready(t, node).LastHeartbeatTime
	require.Eventually(t, func() bool {
		return ready(t, e.node(t, node.Name)).LastHeartbeatTime.After(first.Time)
	}, patience, interval, "no heartbeat")
}

func ready(t *testing.T, node *corev1.Node) corev1.NodeCondition {
	t.Helper()
	require.Len(t, node.Status.Conditions, 1)
	require.Equal(t, corev1.NodeReady, node.Status.Conditions[0].Type)
	require.Equal(t, corev1.ConditionTrue, node.Status.Conditions[0].Status)
	return node.Status.Conditions[0]
}

func (e *environment) requireStatusInBothVersions(t *testing.T, name string) {
	t.Helper()
	for _, version := range []string{"v1beta1", "v1beta2"} {
		remote := object("infrastructure.cluster.x-k8s.io", version, "RemoteMachine", name)
		require.NoError(t, e.management.Get(t.Context(), client.ObjectKeyFromObject(remote), remote))
		require.Equal(t, map[string]any{
			"ready": true, "initialization": map[string]any{"provisioned": true},
		}, remote.Object["status"], version)
		config := object("bootstrap.cluster.x-k8s.io", version, "K0sWorkerConfig", name)
		require.NoError(t, e.management.Get(t.Context(), client.ObjectKeyFromObject(config), config))
		require.Equal(t, map[string]any{
			"ready": true, "dataSecretName": name, "initialization": map[string]any{"dataSecretCreated": true},
		}, config.Object["status"], version)
	}
}

func (e *environment) theHostNamesItsNode(t *testing.T) {
	machine := e.join(t, machine{name: "ws-2", address: namedHost, useSystemHostname: true})
	nodeName, _, _ := unstructured.NestedString(machine.Object, "status", "nodeRef", "name")
	require.Equal(t, "workstation.example", nodeName)
	node := e.node(t, nodeName)
	require.Equal(t, "ws-2", node.Labels["k0smotron.io/machine-name"])
	require.Equal(t, "0123456789abcdef0123456789abcdef", node.Status.NodeInfo.MachineID)
}

func (e *environment) aHostBringsPods(t *testing.T) {
	e.join(t, machine{name: "ws-3", address: busyHost})
	e.requireEvictionRefused(t, e.pods(t, client.MatchingLabels{"app": "guarded"}, 2)[0])
	for _, pod := range e.pods(t, client.MatchingLabels{"app": "daemon"}, 2) {
		require.Equal(t, "DaemonSet", metav1.GetControllerOf(&pod).Kind)
	}
	for _, pod := range e.pods(t, client.MatchingLabels{"app": "mirror"}, 2) {
		require.Contains(t, pod.Annotations, corev1.MirrorPodAnnotationKey)
	}
	job := e.pods(t, client.MatchingLabels{"app": "job"}, 2)[0]
	require.NoError(t, e.child.Delete(t.Context(), &job, client.GracePeriodSeconds(1)))
	require.Eventually(t, func() bool { // its containers are dead, its finalizer keeps it
		require.NoError(t, e.child.Get(t.Context(), client.ObjectKeyFromObject(&job), &job))
		return *job.DeletionGracePeriodSeconds == 0
	}, patience, interval)
}

func (e *environment) requireEvictionRefused(t *testing.T, pod corev1.Pod) {
	t.Helper()
	err := e.child.SubResource("eviction").Create(t.Context(), &pod, &policyv1.Eviction{})
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
}

func (e *environment) aDeletedNodeStaysAway(t *testing.T) {
	e.join(t, machine{name: "ws-5", address: nodelessHost})
	pod := e.pods(t, client.MatchingLabels{"app": appOn(nodelessHost)}, 2)[0]
	node := e.node(t, "ws-5")
	require.NoError(t, e.child.Delete(t.Context(), node))

	start := time.Now()
	require.NoError(t, e.child.Delete(t.Context(), &pod, client.GracePeriodSeconds(1)))
	awaitGone(t, e.child, &pod)
	require.GreaterOrEqual(t, time.Since(start), podKillTime, "the pod was gone before its containers were dead")
	require.True(t, gone(t, e.child, node), "the running kubelet registered its Node again")

	require.NoError(t, e.hosts.Reboot(t.Context(), nodelessHost))
	require.NotEqual(t, node.UID, e.node(t, "ws-5").UID)
	require.ErrorContains(t, e.hosts.Reboot(t.Context(), "10.9.9.9"), "no host of that address has joined")
}

func (e *environment) aStoppingHostFinishesNothing(t *testing.T) {
	machine := e.join(t, machine{name: "ws-4", address: stoppingHost})
	pod := e.pods(t, client.MatchingLabels{"app": appOn(stoppingHost)}, 2)[0]
	remote := remoteMachine("ws-4")
	require.NoError(t, e.management.Delete(t.Context(), machine))
	require.Eventually(t, func() bool {
		require.NoError(t, e.management.Get(t.Context(), client.ObjectKeyFromObject(remote), remote))
		return remote.GetDeletionTimestamp() != nil
	}, patience, interval)
	require.NoError(t, e.child.Delete(t.Context(), &pod, client.GracePeriodSeconds(1)))
	awaitGone(t, e.management, remote)
	require.False(t, gone(t, e.child, &pod), "a kubelet that was stopped finished a pod")
	awaitGone(t, e.management, machine)
}
