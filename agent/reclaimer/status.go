package reclaimer

import (
	"fmt"
	"strings"
	"time"

	"5spot.finos.org/node-reclaim/agent/node"
)

// notify tells the service manager, on change only.
func (r *Reclaimer) notify() {
	if line := r.line(); line != r.status {
		r.status = line
		r.opts.Notifier.Status(line)
	}
	if !r.ready && r.settled() {
		r.ready = true
		r.opts.Notifier.Ready()
	}
}

// settled: who watches knows how. Who does not may never come to know, and is complete without.
func (r *Reclaimer) settled() bool { return r.rung.Name != "" || !r.current.Watch }

// line is what `systemctl status` shows.
func (r *Reclaimer) line() string {
	parts := []string{string(r.current.State) + r.more()}
	if r.rung.Name != "" && r.current.State == Armed {
		parts = append(parts, r.rungText())
	}
	if r.view.Node.Name != "" {
		parts = append(parts, "Node "+r.view.Node.Name)
	}
	if r.view.Standing == node.Away {
		parts = append(parts, "API server does not answer")
	}
	if r.config.Fault != nil {
		parts = append(parts, "configuration refused: "+r.config.Fault.Error())
	}
	return oneLine(strings.Join(parts, "; "))
}

// more is what a reader wants to know next about the state.
func (r *Reclaimer) more() string {
	c := r.config.Config
	switch {
	case r.current.State == Armed:
		return fmt.Sprintf(": %d commands, %d argument substrings", len(c.MatchCommands), len(c.MatchArgvSubstrings))
	case r.current.State == Requesting && r.trouble.err != nil:
		return fmt.Sprintf(" since %s: %s", r.pending.request.At.UTC().Format(time.RFC3339), r.trouble.err)
	case r.current.State == Requesting:
		return ": " + r.pending.request.Reason
	case r.current.Why != "":
		return ": " + r.current.Why
	}
	return ""
}

// oneLine: a newline would end the field in the notify protocol, and the rest could be taken for another one.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }
