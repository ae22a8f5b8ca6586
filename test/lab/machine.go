package lab

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// ScheduledMachine is one that is always in schedule, on the host of that address.
func ScheduledMachine(name, address string, killIfCommands ...string) *v1alpha1.ScheduledMachine {
	return &v1alpha1.ScheduledMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec: v1alpha1.ScheduledMachineSpec{
			ClusterName: Cluster,
			Schedule:    v1alpha1.Schedule{DaysOfWeek: []string{"mon-sun"}, HoursOfDay: []string{"0-23"}},
			BootstrapSpec: v1alpha1.ObjectTemplate{
				APIVersion: "bootstrap.cluster.x-k8s.io/v1beta1", Kind: "K0sWorkerConfig",
				Spec: runtime.RawExtension{Raw: []byte(`{"version":"v1.37.2+k0s.0"}`)},
			},
			InfrastructureSpec: v1alpha1.ObjectTemplate{
				APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "RemoteMachine",
				Spec: runtime.RawExtension{Raw: []byte(`{"address":"` + address + `","port":22,"user":"root"}`)},
			},
			KillIfCommands: killIfCommands,
		},
	}
}
