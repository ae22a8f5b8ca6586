package installer

import (
	"fmt"
	"strings"
)

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

// maxTextBytes is room for any sentence of ours. A longer one quotes something foreign without measure.
const maxTextBytes = 1024

// short cuts a text in its middle: what is wrong stands before what is quoted, and the remedy after it.
func short(text string) string {
	if len(text) <= maxTextBytes {
		return text
	}
	const half = maxTextBytes / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, text: short(fmt.Sprintf(format, args...))}
}
