package main

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
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	// owner is the program that the owner starts.
	owner = "storm-owner"
	// patience is how long anything may take that has to come: the API server is away for a good part of the time.
	patience = time.Minute
	poll     = 5 * time.Millisecond
	// settled is when an agent that has started has calmed down.
	settled = 5 * time.Second
)

// stage is where it storms: one workstation that has joined a cluster.
type stage struct {
	*workstation.Workstation
	cp     *controlplane.ControlPlane
	admin  client.Client
	dir    string
	binary string
	// program is a copy of sleep under the owner's program's name.
	program string
}

func newStage(ctx context.Context) (_ *stage, err error) {
	s := &stage{}
	defer func() {
		if err != nil {
			s.close(&err)
		}
	}()
	if s.dir, err = os.MkdirTemp("", "storm-"); err != nil {
		return nil, err
	}
	if s.binary, err = workstation.BuildAgent(ctx, s.dir); err != nil {
		return nil, err
	}
	if s.program, err = s.copyOfSleep(); err != nil {
		return nil, err
	}
	if s.cp, err = controlplane.Start(controlplane.Options{}); err != nil {
		return nil, err
	}
	if s.admin, err = client.New(s.cp.Config, client.Options{}); err != nil {
		return nil, err
	}
	if s.Workstation, err = workstation.New(s.cp, "ws-1", s.dir); err != nil {
		return nil, err
	}
	if _, err = s.Register(ctx); err != nil {
		return nil, err
	}
	return s, s.Match(owner)
}

func (s *stage) copyOfSleep() (string, error) {
	program, err := os.ReadFile("/bin/sleep")
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, owner)
	return path, os.WriteFile(path, program, 0o700)
}

func (s *stage) close(err *error) {
	if s.cp != nil {
		*err = errors.Join(*err, s.cp.Stop())
	}
	*err = errors.Join(*err, os.RemoveAll(s.dir))
}

// await waits until the agent says on its Node that it is in that state.
func (s *stage) await(ctx context.Context, state string) error {
	n := &corev1.Node{}
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, client.ObjectKey{Name: s.Name}, n)
		return err == nil && strings.Contains(n.Annotations[reclaim.AnnotationAgentState], `"state":"`+state+`"`), nil
	})
	if err != nil {
		return fmt.Errorf("the agent is not %s after %s: %w", state, patience, err)
	}
	return nil
}

// clear takes the request off the Node, as the controller does in the end, through outages.
func (s *stage) clear(ctx context.Context) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null,%q:null,%q:null}}}`,
		reclaim.AnnotationRequested, reclaim.AnnotationReason, reclaim.AnnotationRequestedAt))
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		n := &corev1.Node{}
		n.Name = s.Name
		return s.admin.Patch(ctx, n, patch) == nil, nil
	})
}

// calm is what an agent holds on a fine day.
type calm struct{ goroutines, rss int }

func (s *stage) whenCalm(ctx context.Context) (calm, error) {
	a, err := s.StartAgent(s.binary)
	if err != nil {
		return calm{}, err
	}
	err = s.await(ctx, "armed")
	time.Sleep(settled)
	rss, seen := a.RSS()
	n, counted := a.Autopsy()
	return calm{n, rss}, errors.Join(err, seen, counted)
}
