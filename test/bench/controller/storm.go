package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/test/bench/report"
	"5spot.finos.org/node-reclaim/test/lab"
)

// stormBudget is from the first annotation to the last Machine's DELETE.
const stormBudget = 5 * time.Second

// storm takes a tenth of every cluster back in the same second.
func (f *fleet) storm(ctx context.Context, _ float64) (report.Section, error) {
	s := report.Section{
		Title:   "Many at once",
		Columns: []string{"first", "p50", "last", "asked within", "n"},
	}
	ours := f.aTenth()
	row, last, err := f.stormRow(ctx, "controller, a tenth of all Nodes at once", ours, f.ask)
	if err != nil {
		return s, err
	}
	row.Budget, row.Missed = "last ≤ "+stormBudget.String(), last > stormBudget
	bare := make([]lent, len(ours))
	for i := range bare {
		bare[i] = lent{ours[i].cluster, fmt.Sprintf("bare-storm-%d", i)}
	}
	if err := each(ctx, bare, f.makeBare); err != nil {
		return s, err
	}
	peer, _, err := f.stormRow(ctx, "bare deletes of as many Nodes and Machines", bare, f.deleteBare)
	if err != nil {
		return s, err
	}
	s.How = fmt.Sprintf("A tenth of every cluster's Nodes annotated at once, nothing on them: what pods take to die comes on top. From the first "+
		"annotation until a watch brings that the Machine's DELETE was accepted. Beside it Nodes and Machines without a ScheduledMachine, deleted by nobody but a "+
		"loop, as many at a time as are annotated: %d.", writers)
	s.Rows = []report.Row{row, peer}
	return s, nil
}

// aTenth are the last machines of every cluster.
func (f *fleet) aTenth() []lent {
	var some []lent
	for i := range clusters {
		end := (i + 1) * f.perCluster
		some = append(some, f.machines[end-max(1, f.perCluster/10):end]...)
	}
	return some
}

// stormRow asks for all, and says when the last Machine was deleted.
func (f *fleet) stormRow(ctx context.Context, what string, all []lent, ask func(context.Context, lent) error) (report.Row, time.Duration, error) {
	machines, stop, err := follow(ctx, f.admin, machineList())
	if err != nil {
		return report.Row{}, 0, err
	}
	defer stop()
	began := time.Now()
	if err := each(ctx, all, ask); err != nil {
		return report.Row{}, 0, err
	}
	asked := time.Since(began)
	deleted, err := awaitDeleted(ctx, machines, began, len(all))
	if err != nil {
		return report.Row{}, 0, err
	}
	last := report.Quantile(deleted, 1)
	return report.Row{What: what, Cells: []string{
		report.MS(report.Quantile(deleted, 0)), report.MS(report.Quantile(deleted, 0.5)), report.MS(last), report.MS(asked), fmt.Sprint(len(all)),
	}}, last, nil
}

// ask annotates a Node as its agent does.
func (f *fleet) ask(ctx context.Context, l lent) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
	return f.childAdmin.Patch(ctx, node, merge(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true",%q:"process-match: java",%q:%q}}}`,
		reclaim.AnnotationRequested, reclaim.AnnotationReason, reclaim.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339Nano))))
}

// makeBare makes a Node and a Machine that no ScheduledMachine is about.
func (f *fleet) makeBare(ctx context.Context, l lent) error {
	like := lab.ScheduledMachine(l.name, "192.0.2.1")
	like.Namespace, like.Spec.ClusterName = l.cluster, childName
	bare := capi.Machine(like, capi.V1Beta2)
	bare.SetOwnerReferences(nil)
	if err := f.admin.Create(ctx, bare); err != nil {
		return err
	}
	return f.childAdmin.Create(ctx, readyNode(l))
}

func (f *fleet) deleteBare(ctx context.Context, l lent) error {
	if err := f.childAdmin.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.name}}); err != nil {
		return err
	}
	bare := machine.Empty(capi.V1Beta2)
	bare.SetNamespace(l.cluster)
	bare.SetName(l.name)
	return f.admin.Delete(ctx, bare)
}

func machineList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	kind := capi.V1Beta2.MachineKind()
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}
