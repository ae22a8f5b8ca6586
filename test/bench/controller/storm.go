package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/test/bench/report"
)

// stormBudget is from the first annotation to the last Machine's DELETE.
const stormBudget = 5 * time.Second

// storm takes a tenth of every cluster back in the same second.
func (f *fleet) storm(ctx context.Context, _ float64) (report.Section, error) {
	s := report.Section{
		Title: "Many at once",
		How: "A tenth of every cluster's Nodes annotated at once, nothing on them: what pods take to die comes on top. From the first " +
			"annotation until a watch brings that the Machine is gone.",
		Columns: []string{"first", "p50", "last", "annotated within"},
	}
	var asking []lent
	for i := range clusters {
		end := (i + 1) * f.perCluster
		asking = append(asking, f.machines[end-max(1, f.perCluster/10):end]...)
	}
	machines, err := f.admin.Watch(ctx, machineList())
	if err != nil {
		return s, err
	}
	defer machines.Stop()
	began := time.Now()
	if err := each(ctx, asking, f.ask); err != nil {
		return s, err
	}
	asked := time.Since(began)
	gone, err := awaitGone(ctx, machines.ResultChan(), began, len(asking))
	if err != nil {
		return s, err
	}
	s.Rows = []report.Row{{
		What: fmt.Sprintf("%d Nodes", len(asking)),
		Cells: []string{
			report.MS(report.Quantile(gone, 0)), report.MS(report.Quantile(gone, 0.5)), report.MS(report.Quantile(gone, 1)), report.MS(asked),
		},
		Budget: "last ≤ " + stormBudget.String(), Missed: report.Quantile(gone, 1) > stormBudget,
	}}
	return s, nil
}

// ask annotates a Node as its agent does.
func (f *fleet) ask(ctx context.Context, l lent) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
	return f.childAdmin.Patch(ctx, node, merge(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true",%q:"process-match: java",%q:%q}}}`,
		reclaim.AnnotationRequested, reclaim.AnnotationReason, reclaim.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339Nano))))
}

func machineList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	kind := capi.V1Beta2.MachineKind()
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

// awaitGone says when each of n objects was gone, counted from began.
func awaitGone(ctx context.Context, events <-chan watch.Event, began time.Time, n int) ([]time.Duration, error) {
	var all []time.Duration
	deadline := time.After(patience)
	for len(all) < n {
		select {
		case e, ok := <-events:
			if !ok {
				return nil, errors.New("the watch has ended")
			}
			if e.Type == watch.Deleted {
				all = append(all, time.Since(began))
			}
		case <-deadline:
			return nil, fmt.Errorf("%d of %d are gone after %s", len(all), n, patience)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return all, nil
}
