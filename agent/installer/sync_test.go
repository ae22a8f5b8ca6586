package installer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"5spot.finos.org/node-reclaim/agent/installer/cluster"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

const patience = 30 * time.Second

// fakeAPI is an API server that says what it is told to.
type fakeAPI struct {
	mu      sync.Mutex
	view    cluster.View
	looks   int
	changes chan struct{}
	warned  []string
	fault   error // of Warn
}

func (a *fakeAPI) Look(context.Context) cluster.View {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	return a.view
}

func (a *fakeAPI) Changes() <-chan struct{} { return a.changes }

func (a *fakeAPI) Warn(_ context.Context, reason, message string) error {
	if a.fault == nil {
		a.warned = append(a.warned, reason+" "+message)
	}
	return a.fault
}

func (a *fakeAPI) set(change func(v *cluster.View)) {
	a.mu.Lock()
	change(&a.view)
	a.mu.Unlock()
	a.changes <- struct{}{}
}

func (a *fakeAPI) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.looks
}

// scene is a machine with a Sync on it, and time at a standstill.
type scene struct {
	*machine
	api   *fakeAPI
	clock *clocktesting.FakeClock
	sync  *Sync
}

func newScene(t *testing.T) *scene {
	s := &scene{machine: newMachine(t), clock: clocktesting.NewFakeClock(now)}
	s.api = &fakeAPI{changes: make(chan struct{}, 1), view: cluster.View{Node: node(), DaemonSet: set(),
		ConfigMap: cluster.ConfigMap{Sight: cluster.There, At: now, Text: java, HasKey: true}}}
	s.sync = NewSync(SyncOptions{Installer: s.installer(), Files: s.files, API: s.api, Clock: s.clock,
		Log: slog.New(slog.NewTextHandler(&s.log, nil)), NodeName: "ws-1"})
	return s
}

// settled has an agent that has been running for some time.
func settled(t *testing.T) *scene {
	s := newScene(t)
	s.sync.round(t.Context())
	s.anHourLater()
	require.Equal(t, calm, s.sync.round(t.Context()))
	require.NoError(t, s.ready())
	s.systemd.Jobs = nil
	return s
}

// anHourLater ages what was written and started.
func (s *scene) anHourLater() {
	s.rewind(ProgramPath, time.Hour)
	s.rewind(UnitPath, time.Hour)
	s.systemd.Age(time.Hour - time.Second)
}

func (s *scene) ready() error { return Ready(s.files, time.Now()) }

func TestReadyOnceTheAgentHasBeenUpForAWhile(t *testing.T) {
	s := newScene(t)
	require.EqualError(t, s.ready(), "the installer has not looked at this host yet")
	require.Equal(t, soon, s.sync.round(t.Context()))
	require.EqualError(t, s.ready(), "5spot-reclaim-agent.service has been active for less than 5s")
	s.anHourLater()
	require.Equal(t, calm, s.sync.round(t.Context()))
	require.NoError(t, s.ready())
	require.ErrorContains(t, Ready(s.files, time.Now().Add(3*time.Minute)), "it hangs")
	require.Empty(t, s.api.warned)
}

func TestWhatARoundComesTo(t *testing.T) {
	const configMap = "5spot-system/reclaim-agent-ws-1"
	for name, tt := range map[string]struct {
		change func(*scene)
		says   string
		pause  time.Duration
		event  string // reason
		config string // on the host
	}{
		"nothing new": {func(*scene) {}, "", calm, "", java},
		"another configuration": {func(s *scene) { s.api.view.ConfigMap.Text = steam },
			"", calm, "", steam},
		"a configuration that does not parse": {func(s *scene) { s.api.view.ConfigMap.Text = "\nmatch_comands = []\n" },
			"ConfigMap " + configMap + ": reclaim.toml:2: unknown key \"match_comands\"; the keys are match_commands, match_argv_substrings and " +
				"poll_interval_ms; the configuration on the host stays as it is until this is corrected", retry, ReasonConfigRefused, java},
		"a ConfigMap without the key": {func(s *scene) { s.api.view.ConfigMap.HasKey = false },
			"ConfigMap " + configMap + " has no key reclaim.toml: the configuration stays as it is; add the key", retry, ReasonConfigRefused, java},
		"no ConfigMap": {func(s *scene) { s.api.view.ConfigMap = cluster.ConfigMap{Sight: cluster.Absent, At: now} },
			"there is no ConfigMap " + configMap + ": the configuration stays as it is", retry, "", java},
		"no word on the ConfigMap alone for a minute": {func(s *scene) {
			s.api.view.ConfigMap = cluster.ConfigMap{Sight: cluster.There, At: now.Add(-time.Minute), Text: steam, HasKey: true}
			s.api.view.Fault = errors.New("reading ConfigMap " + configMap + ": forbidden")
		}, "nothing is known of ConfigMap " + configMap + " at the moment: the configuration stays as it is; reading ConfigMap " + configMap +
			": forbidden", retry, "", java},
		"another machine": {func(s *scene) { s.api.view.Node.MachineID = otherID },
			`the Node has machine id "` + otherID + `" and this host has "` + thisMachine + `": wait until the kubelet has reported its own, or give ` +
				"each host its own /etc/machine-id (systemd-machine-id-setup) and restart the kubelet", retry, ReasonOtherMachine, java},
		"a foreign file": {func(s *scene) { s.foreignUnit() },
			UnitPath + " on this host was not put there by this DaemonSet: move it away (mv " + UnitPath + " " + UnitPath + ".old), or " + optOut,
			retry, ReasonForeignFile, java},
		"no word from the API server for long": {func(s *scene) {
			s.clock.Step(time.Hour)
			s.api.view.Fault = errors.New("reading Node ws-1: connection refused")
		}, "nothing is known of the Node at the moment; reading Node ws-1: connection refused", retry, "", java},
		"a Node that is missed": {func(s *scene) { s.api.view.Node = missed(time.Second, 0) },
			"there is no such Node, which is asked again", 4 * time.Second, "", java},
		"the label is gone": {func(s *scene) { s.api.view.Node.Labels = nil },
			`the agent is not installed: the Node's label 5spot.finos.org/reclaim-agent is "", not "enabled"`, retry, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(t)
			tt.change(s)
			require.Equal(t, tt.pause, s.sync.round(t.Context()))
			if tt.says == "" {
				require.NoError(t, s.ready())
			} else {
				require.EqualError(t, s.ready(), tt.says)
			}
			require.Equal(t, tt.pause, s.sync.round(t.Context()), "once more")
			s.hasWarned(tt.event)
			text, err := s.files.Read(reclaim.ConfigPath)
			require.NoError(t, err)
			require.Equal(t, tt.config, string(text))
		})
	}
}

func (s *scene) foreignUnit() {
	require.NoError(s.t, os.Remove(s.files.Path(UnitPath)))
	require.NoError(s.t, os.Mkdir(s.files.Path(UnitPath), 0o755))
}

// hasWarned: once, however many rounds.
func (s *scene) hasWarned(reason string) {
	s.t.Helper()
	if reason == "" {
		require.Empty(s.t, s.api.warned)
		return
	}
	require.Len(s.t, s.api.warned, 1)
	require.True(s.t, strings.HasPrefix(s.api.warned[0], reason+" "), s.api.warned[0])
}

func TestAnEventThatCouldNotBeLeftIsLeftLater(t *testing.T) {
	s := newScene(t)
	s.write(ProgramPath, "mine")
	s.api.fault = errors.New("connection refused")
	s.sync.round(t.Context())
	require.Contains(t, s.log.String(), "no event was left")
	s.api.fault = nil
	s.sync.round(t.Context())
	s.hasWarned(ReasonForeignFile)
}

func TestARemovalIsDoneWhileThePodLives(t *testing.T) {
	s := newScene(t)
	before := s.all()
	s.sync.round(t.Context())
	s.api.view.Node.Labels = nil
	s.sync.round(t.Context())
	require.Equal(t, before, s.all())
}

// run starts a Sync and gives what sends it SIGTERM and waits for its end.
func (s *scene) run() (terminate func() error) {
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.sync.Run(ctx) }()
	require.Eventually(s.t, func() bool { return s.api.asked() > 0 && s.clock.HasWaiters() }, patience, time.Millisecond)
	return func() error { cancel(); return <-ended }
}

func TestAtTheEndOfThePod(t *testing.T) {
	for name, tt := range map[string]struct {
		last func(v *cluster.View)
		kept bool
	}{
		"a rolling update keeps the agent":                    {func(*cluster.View) {}, true},
		"an API server that has long been away keeps it":      {func(v *cluster.View) { v.Node.At, v.DaemonSet.At = now.Add(-stale), now.Add(-stale) }, true},
		"a label that is gone takes it off":                   {func(v *cluster.View) { v.Node.Labels = nil }, false},
		"a DaemonSet that goes takes it off":                  {func(v *cluster.View) { v.DaemonSet.Deleting = true }, false},
		"a Node that was missed before already takes it off":  {func(v *cluster.View) { v.Node = missed(askAgain, 0) }, false},
		"another Node in its place, without label, leaves it": {func(v *cluster.View) { v.Node.UID, v.Node.Labels = "uid-2", nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(t)
			terminate := s.run()
			s.api.mu.Lock()
			tt.last(&s.api.view)
			s.api.mu.Unlock()
			require.NoError(t, terminate())
			_, err := os.Stat(s.files.Path(ProgramPath))
			require.Equal(t, tt.kept, err == nil)
			require.NoFileExists(t, s.files.Path(readyPath))
		})
	}
}

func TestAtTheEndOfThePodAMissedNodeIsAskedForAgain(t *testing.T) {
	s := settled(t)
	terminate := s.run()
	s.api.mu.Lock()
	s.api.view.Node = missed(0, 0)
	s.api.mu.Unlock()
	asked, ended := s.api.asked(), make(chan error, 1)
	go func() { ended <- terminate() }()
	require.Eventually(t, func() bool { return s.api.asked() > asked && s.clock.HasWaiters() }, patience, time.Millisecond)
	s.api.set(func(v *cluster.View) { v.Node.At = now.Add(askAgain) })
	require.NoError(t, <-ended)
	require.NoFileExists(t, s.files.Path(ProgramPath))
}

func TestAChangeIsActedOnAtOnce(t *testing.T) {
	s := settled(t)
	terminate := s.run()
	s.api.set(func(v *cluster.View) { v.Node.Labels = nil })
	require.Eventually(t, func() bool { _, err := os.Stat(s.files.Path(RecordPath)); return err != nil }, patience, time.Millisecond)
	require.NoError(t, terminate())
}
