package reclaim

import (
	"encoding/json"
	"errors"
	"fmt"
)

// maxStateBytes bounds what is read of an AnnotationAgentState. The agent writes about 150.
const maxStateBytes = 4096

// ParseAgentState reads an AnnotationAgentState. It is a node's text: whatever an agent could not have written is an error, and each of its
// strings is made fit to be shown. Keys of a newer agent are ignored.
func ParseAgentState(text string) (AgentState, error) {
	if len(text) > maxStateBytes {
		return AgentState{}, fmt.Errorf("%d bytes long, at most %d are read", len(text), maxStateBytes)
	}
	var s AgentState
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return AgentState{}, errors.New("not JSON of the agent's")
	}
	for _, field := range []*string{&s.State, &s.Rung, &s.ConfigHash, &s.Version} {
		*field = CleanReason(*field)
	}
	switch s.State {
	case StateInert, StateArmed, StateRequesting, StateRequested, StateStandby:
		return s, nil
	}
	return AgentState{}, fmt.Errorf("unknown state %q", s.State)
}
