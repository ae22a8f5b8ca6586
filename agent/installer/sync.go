package installer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/installer/cluster"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

const (
	// calm is the time between two rounds when nothing was heard and all is well.
	calm = 30 * time.Second
	// retry is the pause after a round that did not succeed; soon, while that is a matter of a moment.
	retry = 10 * time.Second
	soon  = time.Second
	// farewell is how long a last look and a removal may take once the pod has to end. It gets 30 s.
	farewell = 25 * time.Second
	// hopeful is how many rounds in a row are made soon. What has not passed by then does not pass by itself.
	hopeful = 30
	// floor is the least time between two rounds that a change brings about, and quiet that between two events of one reason: both follow a text
	// that a tenant may change without end.
	floor = time.Second
	quiet = time.Minute
)

// SyncOptions are what a Sync is made of. All are needed.
type SyncOptions struct {
	Installer *Installer
	Files     Files
	API       API
	Clock     clock.Clock
	Log       *slog.Logger
	NodeName  string
}

// Sync keeps the host equal to what the API server says, in rounds that each start from nothing but what is there.
type Sync struct {
	opts SyncOptions
	said string
	// warned is the last event of each reason.
	warned map[string]warning
	// told is when a change last ended a pause.
	told time.Time
	// pending counts the rounds in a row whose fault should have passed by itself.
	pending int
}

// NewSync makes a Sync.
func NewSync(o SyncOptions) *Sync { return &Sync{opts: o, warned: map[string]warning{}} }

// Run goes round until ctx ends, and then looks once more whether the agent has to go: a pod that ends because its Node left must not
// leave the agent, one that is replaced must.
func (s *Sync) Run(ctx context.Context) error {
	if err := s.opts.Files.Remove(readyPath); err != nil { // an earlier container's word
		return err
	}
	for ctx.Err() == nil {
		s.wait(ctx, s.round(ctx))
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	return errors.Join(s.leave(last), s.opts.Files.Remove(readyPath))
}

// wait ends with the pause, or with a change. The first is acted on at once.
func (s *Sync) wait(ctx context.Context, pause time.Duration) {
	timer := s.opts.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-s.opts.API.Changes():
		if early := floor - s.opts.Clock.Since(s.told); 0 < early && early <= floor {
			s.sleep(ctx, early)
		}
		s.told = s.opts.Clock.Now()
	}
}

func (s *Sync) sleep(ctx context.Context, d time.Duration) {
	timer := s.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// round looks, acts and says how it went. It gives the pause until the next.
func (s *Sync) round(ctx context.Context) time.Duration {
	view := s.opts.API.Look(ctx)
	verdict, err := s.judge(view)
	if err == nil {
		err = s.act(ctx, verdict, view)
	}
	if ctx.Err() != nil {
		return 0 // whatever failed did so because of that
	}
	s.say(ctx, err)
	return s.pause(verdict, err)
}

func (s *Sync) pause(v Verdict, err error) time.Duration {
	var pending pendingError
	if errors.As(err, &pending) {
		s.pending++
	} else {
		s.pending = 0
	}
	switch {
	case v.Again > 0:
		return v.Again
	case 0 < s.pending && s.pending <= hopeful:
		return soon
	case err != nil:
		return retry
	}
	return calm
}

// judge puts the facts together.
func (s *Sync) judge(view cluster.View) (Verdict, error) {
	record, err := readRecord(s.opts.Files)
	if err != nil {
		return Verdict{}, err
	}
	id, err := s.opts.Files.Read(machineIDPath)
	if err != nil {
		return Verdict{}, err
	}
	return Decide(Facts{Now: s.opts.Clock.Now(), Node: view.Node, DaemonSet: view.DaemonSet, MachineID: strings.TrimSpace(string(id)),
		Record: record}), nil
}

// act carries the verdict out. Its error is why the pod is not ready.
func (s *Sync) act(ctx context.Context, v Verdict, view cluster.View) error {
	switch v.Answer {
	case Keep:
		return s.keep(ctx, view)
	case Uninstall:
		if err := s.uninstall(ctx, v); err != nil {
			return err
		}
		return fmt.Errorf("the agent is not installed: %s", v.Why)
	case HandsOff:
		return refuse(ReasonOtherMachine, "%s", v.Why)
	}
	return errors.Join(errors.New(v.Why), view.Fault)
}

// keep installs with the configuration as far as there is a good one, and is content when all of it is in force.
func (s *Sync) keep(ctx context.Context, view cluster.View) error {
	config, fault := s.config(view)
	owner := Owner{NodeName: s.opts.NodeName, NodeUID: view.Node.UID, MachineID: view.Node.MachineID}
	if err := s.opts.Installer.Install(ctx, owner, config); err != nil {
		return err
	}
	if fault != nil {
		return fault
	}
	return s.opts.Installer.Health(ctx)
}

// config is the ConfigMap's content, if the agent would take it.
func (s *Sync) config(view cluster.View) ([]byte, error) {
	m := view.ConfigMap
	name := reclaim.Namespace + "/" + reclaim.ConfigMapName(s.opts.NodeName)
	switch {
	case m.Sight == cluster.Unknown || s.opts.Clock.Since(m.At) >= stale:
		return nil, errors.Join(fmt.Errorf("nothing is known of ConfigMap %s at the moment: the configuration stays as it is", name), view.Fault)
	case m.Sight == cluster.Absent:
		return nil, fmt.Errorf("there is no ConfigMap %s: the configuration stays as it is", name)
	case !m.HasKey:
		return nil, refuse(ReasonConfigRefused, "ConfigMap %s has no key %s: the configuration stays as it is; add the key", name, reclaim.ConfigKey)
	}
	if _, err := reclaim.Parse(reclaim.ConfigKey, []byte(m.Text)); err != nil {
		return nil, refuse(ReasonConfigRefused, "ConfigMap %s: %v; the configuration on the host stays as it is until this is corrected", name, err)
	}
	return []byte(m.Text), nil
}

func (s *Sync) uninstall(ctx context.Context, v Verdict) error {
	removal, err := s.opts.Installer.Uninstall(ctx)
	for _, left := range removal.Left {
		s.opts.Log.Warn("left in place", "file", left.Path, "why", left.Why)
	}
	if err != nil {
		return fmt.Errorf("removing the agent: %w", err)
	}
	if removal.Found {
		s.opts.Log.Info("agent removed", "why", v.Why)
	}
	return nil
}

// say makes the outcome known: to the probe in every round, to the log when it changes, and, where somebody has to act, as an event.
func (s *Sync) say(ctx context.Context, fault error) {
	if err := tell(s.opts.Files, fault); err != nil {
		s.opts.Log.Error("the readiness probe cannot be told", "error", err)
	}
	text := ""
	if fault != nil {
		text = fault.Error()
	}
	if text != s.said {
		s.said = text
		s.log(text)
	}
	var refusal *Refusal
	if errors.As(fault, &refusal) {
		s.warn(ctx, refusal)
	}
}

func (s *Sync) log(fault string) {
	if fault == "" {
		s.opts.Log.Info("the agent runs as its Node asks for")
		return
	}
	s.opts.Log.Warn("not ready", "why", fault)
}

// warning is an event that was left.
type warning struct {
	text string
	at   time.Time
}

// warn says a refusal once, and the next of the same reason a while later at the earliest.
func (s *Sync) warn(ctx context.Context, r *Refusal) {
	last, said := s.warned[r.Reason]
	if said && (last.text == r.Error() || s.opts.Clock.Since(last.at) < quiet) {
		return
	}
	if err := s.opts.API.Warn(ctx, r.Reason, r.Error()); err != nil {
		s.opts.Log.Warn("no event was left", "error", err)
		return
	}
	s.warned[r.Reason] = warning{r.Error(), s.opts.Clock.Now()}
}

// leave asks as often as it takes to know whether the agent has to go.
func (s *Sync) leave(ctx context.Context) error {
	for {
		verdict, err := s.judge(s.opts.API.Look(ctx))
		switch {
		case err != nil:
			return err
		case verdict.Answer == Uninstall:
			return s.uninstall(ctx, verdict)
		case verdict.Again == 0:
			s.opts.Log.Info("the agent stays", "verdict", verdict.Answer, "why", verdict.Why)
			return nil
		}
		s.wait(ctx, verdict.Again)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("no time left to find out whether the agent has to go: %w", err)
		}
	}
}
