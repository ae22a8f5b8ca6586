package projection

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
)

// list is spec.killIfCommands as a node gets it.
type list struct {
	config reclaim.Config
	// text is reclaim.toml. The hashes are of config, as the agent says it, and of text.
	text, hash, textHash string
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
	l.hash = l.config.Hash()
	toml, err := l.config.Encode()
	l.text = fmt.Sprintf("# spec.killIfCommands of ScheduledMachine %s/%s. Change it there: an edit here is put back at once.\n%s",
		sm.Namespace, sm.Name, toml)
	l.textHash = child.HashText(l.text)
	return l, err
}

// lists remembers what was projected. A pass over a cluster is due whenever one of its machines changes, and encoding and parsing anew for all
// others would be most of what it costs.
type lists struct {
	mu sync.Mutex
	of map[child.ClusterKey]map[types.UID]remembered
}

type remembered struct {
	generation int64
	list       *list
}

// project is the function of that name, for all machines of a cluster that ask for something. Machines that are not among them are forgotten.
func (l *lists) project(key child.ClusterKey, machines []*v1alpha1.ScheduledMachine) (map[types.UID]remembered, error) {
	l.mu.Lock()
	before := l.of[key]
	l.mu.Unlock()
	now := map[types.UID]remembered{}
	for _, sm := range machines {
		if len(sm.Spec.KillIfCommands) == 0 {
			continue
		}
		if known, is := before[sm.UID]; is && known.generation == sm.Generation {
			now[sm.UID] = known
			continue
		}
		made, err := project(sm)
		if err != nil {
			return nil, err
		}
		now[sm.UID] = remembered{sm.Generation, &made}
	}
	l.keep(key, now)
	return now, nil
}

func (l *lists) keep(key child.ClusterKey, now map[types.UID]remembered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[child.ClusterKey]map[types.UID]remembered{}
	}
	if l.of[key] = now; len(now) == 0 {
		delete(l.of, key)
	}
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
