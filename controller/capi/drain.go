package capi

import (
	"encoding/json"
	"fmt"
	"time"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// DrainPatch is the merge patch that hands the graceful end of a Machine to Cluster API: its drain is switched on, bounded by nodeDrainTimeout.
func DrainPatch(sm *v1alpha1.ScheduledMachine, version Version) ([]byte, error) {
	timeout, err := time.ParseDuration(string(sm.Spec.NodeDrainTimeout))
	if err != nil {
		return nil, fmt.Errorf("spec.nodeDrainTimeout: %q is not a number with unit s, m or h, for example 5m", sm.Spec.NodeDrainTimeout)
	}
	timeout = max(timeout, time.Second) // to Cluster API, 0 is no bound
	spec := map[string]any{"nodeDrainTimeout": timeout.String()}
	if version == V1Beta2 {
		spec = map[string]any{"deletion": map[string]any{"nodeDrainTimeoutSeconds": int64(timeout.Seconds())}}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{ExcludeDrainAnnotation: nil}},
		"spec":     spec,
	})
}
