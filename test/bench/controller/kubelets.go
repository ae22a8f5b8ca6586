package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// beatEvery is how often a kubelet renews its lease.
const beatEvery = 10 * time.Second

// readyNode is of the size of a real one: images and addresses make most of it.
func readyNode(l lent) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: l.name, Labels: map[string]string{
			clusterLabel: l.cluster, corev1.LabelHostname: l.name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Spec: corev1.NodeSpec{ProviderID: "remote-machine://192.0.2.1:22"},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: l.name}},
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.37.2", MachineID: l.name, OperatingSystem: "linux", Architecture: "amd64"},
			Conditions: conditions(),
		},
	}
	for i := range 50 { // what a kubelet reports
		image := fmt.Sprintf("registry.example.org/team/application-%02d", i)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{image + "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", image + ":v1"}, SizeBytes: 1 << 27,
		})
	}
	return node
}

func conditions() []corev1.NodeCondition {
	now := metav1.Now()
	var all []corev1.NodeCondition
	for kind, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{
		corev1.NodeMemoryPressure: corev1.ConditionFalse, corev1.NodeDiskPressure: corev1.ConditionFalse,
		corev1.NodePIDPressure: corev1.ConditionFalse, corev1.NodeReady: corev1.ConditionTrue,
	} {
		all = append(all, corev1.NodeCondition{Type: kind, Status: status, Reason: "Bench", LastHeartbeatTime: now})
	}
	return all
}

// kubelets renew every machine's lease every ten seconds, evenly, and report its status in every nth round.
type kubelets struct {
	fleet *fleet
	nth   int
}

// run beats until the returned function is called, which says what went wrong.
func (k kubelets) run(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	errs := make([]error, clusters)
	for i := range clusters {
		own := k.fleet.machines[i*k.fleet.perCluster : (i+1)*k.fleet.perCluster]
		group.Go(func() { errs[i] = k.beat(ctx, own) })
	}
	return func() error {
		cancel()
		group.Wait()
		for _, err := range errs {
			if err != nil {
				return fmt.Errorf("playing kubelets: %w", err)
			}
		}
		return nil
	}
}

func (k kubelets) beat(ctx context.Context, machines []lent) error {
	ticker := time.NewTicker(beatEvery / time.Duration(len(machines)))
	defer ticker.Stop()
	for tick := 0; ; tick++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		l, round := machines[tick%len(machines)], tick/len(machines)
		err := k.renew(ctx, l)
		if err == nil && (round+tick)%k.nth == 0 {
			err = k.report(ctx, l)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (k kubelets) renew(ctx context.Context, l lent) error {
	lease := &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: l.name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &l.name, LeaseDurationSeconds: ptr.To[int32](40)},
	}
	renew := merge(fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro)))
	err := k.fleet.childAdmin.Patch(ctx, lease.DeepCopy(), renew)
	if apierrors.IsNotFound(err) {
		return k.fleet.childAdmin.Create(ctx, lease)
	}
	return err
}

func (k kubelets) report(ctx context.Context, l lent) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
	beat, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions()}})
	if err != nil {
		return err
	}
	return k.fleet.childAdmin.Status().Patch(ctx, node, client.RawPatch(types.StrategicMergePatchType, beat))
}
