package workstation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	// patience is how long anything may take that has to come: the API server may be away for a good part of the time.
	patience = time.Minute
	poll     = 5 * time.Millisecond
)

// Stage is a workstation that has joined a cluster of its own, for programs that run the agent for a while.
type Stage struct {
	*Workstation
	ControlPlane *controlplane.ControlPlane
	Admin        client.WithWatch
	// Agent is the path of the agent's program, Owner that of one that the owner starts: a copy of sleep.
	Agent, Owner string
}

// NewStage makes all of it, with Owner under that name, which the configuration asks for.
func NewStage(ctx context.Context, owner string) (_ *Stage, err error) {
	s := &Stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	dir, err := os.MkdirTemp("", "workstation-")
	if err != nil {
		return nil, err
	}
	s.Workstation = &Workstation{dir: dir}
	if s.Agent, err = BuildAgent(ctx, dir); err != nil {
		return nil, err
	}
	if s.Owner, err = CopyOfSleep(dir, owner); err != nil {
		return nil, err
	}
	if s.ControlPlane, err = controlplane.Start(controlplane.Options{}); err != nil {
		return nil, err
	}
	if s.Admin, err = client.NewWithWatch(s.ControlPlane.Config, client.Options{}); err != nil {
		return nil, err
	}
	if s.Workstation, err = New(s.ControlPlane, "ws-1", dir); err != nil {
		return nil, err
	}
	if _, err = s.Register(ctx); err != nil {
		return nil, err
	}
	return s, s.Match(owner)
}

// CopyOfSleep makes a program of that name in dir. It takes the seconds that it lives as its argument.
func CopyOfSleep(dir, name string) (string, error) {
	program, err := os.ReadFile("/bin/sleep")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, program, 0o700)
}

// Close ends the cluster and removes the workstation's files.
func (s *Stage) Close() error {
	var stopped error
	if s.ControlPlane != nil {
		stopped = s.ControlPlane.Stop()
	}
	if s.Workstation == nil {
		return stopped
	}
	return errors.Join(stopped, os.RemoveAll(s.dir))
}

// Await waits until the agent says on its Node that it is in that state.
func (s *Stage) Await(ctx context.Context, state string) error {
	n := &corev1.Node{}
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := s.Admin.Get(ctx, client.ObjectKey{Name: s.Name}, n)
		return err == nil && strings.Contains(n.Annotations[reclaim.AnnotationAgentState], `"state":"`+state+`"`), nil
	})
	if err != nil {
		return fmt.Errorf("the agent is not %s after %s: %w", state, patience, err)
	}
	return nil
}

// Clear takes the request off the Node, as the controller does in the end, through outages.
func (s *Stage) Clear(ctx context.Context) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null,%q:null,%q:null}}}`,
		reclaim.AnnotationRequested, reclaim.AnnotationReason, reclaim.AnnotationRequestedAt))
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		n := &corev1.Node{}
		n.Name = s.Name
		return s.Admin.Patch(ctx, n, patch) == nil, nil
	})
}
