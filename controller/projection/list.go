package projection

import (
	"errors"
	"fmt"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// list is spec.killIfCommands as a node gets it.
type list struct {
	config reclaim.Config
	// text is reclaim.toml.
	text string
	// faults name the entries that no node can be given; the others are in config all the same.
	faults []string
}

// project makes a list of a spec. The CRD refuses what cannot be projected, but objects from before it did may still be there.
func project(sm *v1alpha1.ScheduledMachine) (list, error) {
	var l list
	var good []string
	for i, entry := range sm.Spec.KillIfCommands {
		if err := checkEntry(entry); err != nil {
			l.faults = append(l.faults, fmt.Sprintf("spec.killIfCommands[%d]: %s", i, reclaim.CleanReason(err.Error())))
			continue
		}
		good = append(good, entry)
	}
	l.config = reclaim.Project(good)
	toml, err := l.config.Encode()
	l.text = fmt.Sprintf("# spec.killIfCommands of ScheduledMachine %s/%s. Change it there: an edit here is put back at once.\n%s",
		sm.Namespace, sm.Name, toml)
	return l, err
}

// minArgvBytes is the CRD's bound for an entry that is only searched for in arguments.
const minArgvBytes = 3

// checkEntry asks the parser that will read the file on the node.
func checkEntry(entry string) error {
	config := reclaim.Project([]string{entry})
	if len(config.MatchCommands) == 0 && len(entry) < minArgvBytes {
		return fmt.Errorf("%q would be found in the arguments of almost every process; give at least %d characters", entry, minArgvBytes)
	}
	toml, err := config.Encode()
	if err != nil {
		return err
	}
	parsed, err := reclaim.Parse(reclaim.ConfigKey, toml)
	if err == nil && parsed.Hash() != config.Hash() {
		err = errors.New("it does not survive " + reclaim.ConfigKey)
	}
	return err
}
