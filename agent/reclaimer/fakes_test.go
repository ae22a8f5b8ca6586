package reclaimer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// fakeObserver records how it was armed.
type fakeObserver struct {
	mu      sync.Mutex
	arms    int
	armed   bool
	matches chan watch.Match
	rungs   chan watch.Rung
}

func (o *fakeObserver) Arm(*match.Matcher)          { o.set(1, true) }
func (o *fakeObserver) Disarm()                     { o.set(0, false) }
func (o *fakeObserver) Matches() <-chan watch.Match { return o.matches }
func (o *fakeObserver) Rungs() <-chan watch.Rung    { return o.rungs }

func (o *fakeObserver) set(arms int, armed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.arms += arms
	o.armed = armed
}

func (o *fakeObserver) state() (int, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.arms, o.armed
}

// fakeNode is an API server with one Node. fail, when set, answers a PATCH before it is looked at.
type fakeNode struct {
	mu      sync.Mutex
	node    node.Node
	version int
	fail    func() error
	patches []map[string]string
	views   chan node.View
}

func (f *fakeNode) Views() <-chan node.View { return f.views }

func (f *fakeNode) Get(context.Context) (node.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.copy(), nil
}

func (f *fakeNode) Annotate(_ context.Context, read node.Node, annotations map[string]string) (node.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(); err != nil {
			return node.Node{}, err
		}
	}
	if read.ResourceVersion != f.node.ResourceVersion {
		return node.Node{}, fmt.Errorf("patching: %w", node.ErrConflict)
	}
	f.patches = append(f.patches, annotations)
	maps.Copy(f.node.Annotations, annotations)
	f.bump()
	return f.copy(), nil
}

// edit changes the Node behind the agent's back, and returns it.
func (f *fakeNode) edit(change func(n *node.Node)) node.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.node)
	f.bump()
	return f.copy()
}

func (f *fakeNode) failWith(fail func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *fakeNode) bump() {
	f.version++
	f.node.ResourceVersion = strconv.Itoa(f.version)
}

func (f *fakeNode) copy() node.Node {
	n := f.node
	n.Annotations = maps.Clone(n.Annotations)
	return n
}

// requests are the PATCHes that made a request.
func (f *fakeNode) requests() []map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []map[string]string
	for _, p := range f.patches {
		if p[reclaim.AnnotationRequested] != "" {
			found = append(found, p)
		}
	}
	return found
}

func (f *fakeNode) annotation(key string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.node.Annotations[key]
}

type fakeConfig chan config.Snapshot

func (c fakeConfig) Updates() <-chan config.Snapshot { return c }

// notices records what the service manager was told, and what was logged.
type notices struct {
	mu    sync.Mutex
	ready int
	fed   int
	last  string
	log   bytes.Buffer
}

func (n *notices) Ready()             { n.with(func() { n.ready++ }) }
func (n *notices) Alive()             { n.with(func() { n.fed++ }) }
func (n *notices) Status(line string) { n.with(func() { n.last = line }) }

func (n *notices) Write(p []byte) (int, error) {
	n.with(func() { n.log.Write(p) })
	return len(p), nil
}

func (n *notices) with(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

func (n *notices) status() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *notices) logged() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

// agent is a Reclaimer that runs, between fakes.
type agent struct {
	t *testing.T
	*fakeObserver
	*fakeNode
	*notices
	beats     chan struct{}
	config    fakeConfig
	installed bool
	noRung    bool
	stop      func() // and wait for the end
}

// start runs an agent with `java` to match and its Node there.
func start(t *testing.T, change ...func(*agent)) *agent {
	a := &agent{
		t:            t,
		fakeObserver: &fakeObserver{matches: make(chan watch.Match), rungs: make(chan watch.Rung)},
		fakeNode: &fakeNode{version: 100, views: make(chan node.View), node: node.Node{
			Name: "ws-1", UID: "uid-1", ResourceVersion: "100",
			Annotations: map[string]string{}, Labels: map[string]string{reclaim.LabelAgent: reclaim.LabelAgentEnabled},
		}},
		notices: &notices{},
		beats:   make(chan struct{}),
		config:  make(fakeConfig),
	}
	for _, c := range change {
		c(a)
	}
	r := New(Options{Observer: a.fakeObserver, Beats: a.beats, Config: a.config, Node: a.fakeNode, Notifier: a.notices, Clock: clock.RealClock{},
		Log: slog.New(slog.NewTextHandler(a.notices, nil)), Version: "v1", Installed: func() bool { return a.installed }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	a.stop = func() { cancel(); <-done }
	t.Cleanup(a.stop)
	a.config <- javaConfig
	if !a.noRung {
		a.rungs <- watch.Rung{Name: "proc-connector"}
	}
	return a
}

// armed starts an agent and waits until it says on its Node that it is armed.
func armed(t *testing.T, change ...func(*agent)) *agent {
	t.Helper()
	a := start(t, change...)
	a.see(node.Present)
	a.await(Armed)
	require.Eventually(t, func() bool { return a.annotation(reclaim.AnnotationAgentState) != "" }, patience, time.Millisecond)
	return a
}

// see delivers the Node as it is now, in that standing.
func (a *agent) see(s node.Standing) {
	n, _ := a.Get(a.t.Context())
	switch s {
	case node.Gone, node.Foreign:
		n = node.Node{Name: n.Name}
	}
	a.views <- node.View{Standing: s, Node: n, Detail: "detail"}
}

// run starts a process that matches.
func (a *agent) run(entry string) time.Time {
	at := time.Now()
	a.matches <- watch.Match{PID: 42, Comm: entry, Rule: match.Rule{List: "match_commands", Entry: entry}, SeenAt: at, Source: "exec"}
	return at
}

func (a *agent) await(s State) {
	a.t.Helper()
	require.Eventually(a.t, func() bool { return bytes.HasPrefix([]byte(a.status()), []byte(s)) }, patience, time.Millisecond,
		"state %s, status is %q", s, a.status())
}

// turn waits until the loop has gone round once more: everything sent before has had its effect.
func (a *agent) turn() {
	a.beats <- struct{}{}
	a.beats <- struct{}{}
}
