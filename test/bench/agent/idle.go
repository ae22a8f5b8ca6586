package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"5spot.finos.org/node-reclaim/test/bench/report"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	idleShare = 0.001
	idleRSS   = 16 << 10 // KiB
	idleBytes = 16_000_000
)

func idleCost(ctx context.Context, scale float64) (_ report.Section, err error) {
	s := report.Section{
		Title: "At rest",
		How: "Armed by process events, and nothing happens on the machine. Beside it a program that does nothing but keep its own Node in memory " +
			"through client-go's typed client, as one would write it first.",
		Columns: []string{"of one processor", "RSS", "program file"},
	}
	stage, err := workstation.NewStage(ctx, needle)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	watched := time.Duration(float64(2*time.Minute) * scale)
	agent, err := idleAgent(ctx, stage, watched)
	if err != nil {
		return s, err
	}
	typed, err := idleTyped(ctx, stage, watched)
	if err != nil {
		return s, err
	}
	r := agent.row("agent at rest")
	r.Budget = "< 0.1 %, ≤ 16 MiB, ≤ 16 MB"
	r.Missed = agent.share >= idleShare || agent.rss > idleRSS || agent.bytes > idleBytes
	peer := typed.row("typed client")
	peer.Cells[2] = "–" // it is part of this program
	s.Rows = []report.Row{r, peer}
	return s, nil
}

// atRest is what a program holds while it has nothing to do.
type atRest struct {
	share float64
	rss   int // KiB
	bytes int64
}

func (r atRest) row(what string) report.Row {
	return report.Row{What: what, Cells: []string{
		fmt.Sprintf("%.3f %%", 100*r.share), fmt.Sprintf("%.1f MiB", float64(r.rss)/1024), fmt.Sprintf("%.1f MB", float64(r.bytes)/1e6),
	}}
}

func idleAgent(ctx context.Context, stage *workstation.Stage, watched time.Duration) (_ atRest, err error) {
	agent, err := stage.StartAgent(stage.Agent)
	if err != nil {
		return atRest{}, err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	if err := stage.Await(ctx, "armed"); err != nil {
		return atRest{}, err
	}
	return watchRest(ctx, agent.PID(), stage.Agent, watched)
}

func idleTyped(ctx context.Context, stage *workstation.Stage, watched time.Duration) (atRest, error) {
	self, err := os.Executable()
	if err != nil {
		return atRest{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-"+asTyped, stage.Kubeconfig(), stage.Name)
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return atRest{}, err
	}
	if err := cmd.Start(); err != nil {
		return atRest{}, err
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		return atRest{}, fmt.Errorf("the typed client does not begin: %w", err)
	}
	return watchRest(ctx, cmd.Process.Pid, self, watched)
}

// watchRest looks on for a while, once a process has calmed down.
func watchRest(ctx context.Context, pid int, program string, watched time.Duration) (atRest, error) {
	if err := report.Wait(ctx, 5*time.Second); err != nil {
		return atRest{}, err
	}
	before, began := report.ProcessorTime(pid), time.Now()
	if err := report.Wait(ctx, watched); err != nil {
		return atRest{}, err
	}
	used := report.ProcessorTime(pid) - before
	rss, err := workstation.RSS(pid)
	if err != nil {
		return atRest{}, err
	}
	file, err := os.Stat(program)
	if err != nil {
		return atRest{}, err
	}
	return atRest{share: float64(used) / float64(time.Since(began)), rss: rss, bytes: file.Size()}, nil
}

// keepNode is the peer: it keeps one Node in memory, and writes a byte when it has it.
func keepNode(ctx context.Context, kubeconfig, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	own := informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + name })
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, own)
	nodes := factory.Core().V1().Nodes().Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if len(nodes.GetStore().List()) != 1 {
		return fmt.Errorf("there is no Node %s", name)
	}
	fmt.Print(".")
	<-ctx.Done()
	return nil
}
