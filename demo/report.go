package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/test/lab"
)

// report proves that no pod was evicted, shows what kubectl shows, and ends with the timeline.
func (d *demo) report(ctx context.Context, executed, seenGone time.Time, w *watcher) error {
	audit, err := d.lab.Child.PodRemovals()
	if err != nil {
		return err
	}
	deleted := audit.Deletes["5spot-controller"]
	if audit.Evictions > 0 || deleted < pods {
		return fmt.Errorf("the audit log has %d evictions and %d pod deletes; 0 and %d were expected", audit.Evictions, deleted, pods)
	}
	fmt.Printf("\nThe child's audit log: %d pods deleted, no eviction asked for.\n\n", deleted)
	if err := errors.Join(d.kubectl(ctx, "get", "sm", workstation), d.kubectl(ctx, "get", "events", "--sort-by=.lastTimestamp",
		"--field-selector=involvedObject.kind=ScheduledMachine", "-o=custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message")); err != nil {
		return err
	}
	d.timeline(executed, seenGone, w)
	return nil
}

func (d *demo) timeline(executed, seenGone time.Time, w *watcher) {
	r := d.sm.Status.Reclaim
	fmt.Printf("\nmilliseconds since exec of java, on Node %s (%s); promised: Node gone within %d\n", workstation, r.Reason, promise.Milliseconds())
	rows := []row{
		{"seen", w.at(edgeMatch), "by " + d.settings.watcher},
		{"annotated", w.at(edgeRequested), "as the watcher had the API server's answer"},
		{"observed", r.ObservedAt.Time, "by the controller"},
		{"cordoned", timeOf(r.CordonedAt), ""},
		{"pods deleted", timeOf(r.PodsDeletedAt), fmt.Sprintf("%d DELETEs accepted", r.PodsDeleted)},
		{"Node gone", timeOf(r.NodeDeletedAt), fmt.Sprintf("found gone by the demo at %d", seenGone.Sub(executed).Milliseconds())},
		{"schedule off", timeOf(r.ScheduleDisabledAt), ""},
		{"pods gone", timeOf(r.PodsGoneAt), "their containers are dead: the kubelet's own two seconds"},
		{"Machine deleted", timeOf(r.MachineDeletedAt), "DELETE accepted; now the host is cleaned"},
		{"Disabled", timeOf(r.MachineGoneAt), "the Machine is gone"},
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.at.Compare(b.at) })
	for _, row := range rows {
		fmt.Printf("  %-16s %6d  %s\n", row.step, row.at.Sub(executed).Milliseconds(), row.note)
	}
}

// row is a line of the timeline.
type row struct {
	step string
	at   time.Time
	note string
}

func timeOf(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// kubectl shows what the real kubectl says of the management cluster.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	file := filepath.Join(d.dir, "management.kubeconfig")
	if err := os.WriteFile(file, d.lab.Management.Kubeconfig, 0o600); err != nil {
		return err
	}
	fmt.Printf("$ kubectl -n %s %s %s\n", lab.Namespace, args[0], args[1])
	cmd := exec.CommandContext(ctx, d.lab.Management.Kubectl(),
		append([]string{"--kubeconfig=" + file, "--cache-dir=" + d.dir, "-n", lab.Namespace}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
