package installer

import "fmt"

// Refusal is why nothing is done on this host, in one sentence that names the remedy. It does not pass by itself, so that it is worth an
// event on the Node.
type Refusal struct {
	// Reason of the event.
	Reason string
	text   string
}

func (r *Refusal) Error() string { return r.text }

// Reasons of the events.
const (
	ReasonHostUnsuitable = "ReclaimAgentHostUnsuitable"
	ReasonOtherMachine   = "ReclaimAgentOtherMachine"
	ReasonForeignFile    = "ReclaimAgentForeignFile"
	ReasonUnitMasked     = "ReclaimAgentUnitMasked"
	ReasonConfigRefused  = "ReclaimAgentConfigRefused"
)

// optOut is the remedy that always works.
const optOut = "clear spec.killIfCommands of its ScheduledMachine"

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, text: fmt.Sprintf(format, args...)}
}
