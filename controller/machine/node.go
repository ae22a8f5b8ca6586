package machine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
)

// NodeName is capi.NodeName of a ScheduledMachine's own Machine. The namespace's other Machines are only read where hosts keep their names:
// elsewhere nobody else can claim the Node.
func NodeName(ctx context.Context, c client.Reader, version capi.Version, sm *v1alpha1.ScheduledMachine, own *unstructured.Unstructured) (string, error) {
	var all []unstructured.Unstructured
	if capi.KeepsHostname(sm, own) {
		var err error
		if all, err = List(ctx, c, version, own.GetNamespace()); err != nil {
			return "", err
		}
	}
	return capi.NodeName(sm, own, all)
}
