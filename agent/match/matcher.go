package match

import (
	"bytes"
	"strings"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

// The two lists of reclaim.toml, as a Rule names them.
const (
	ListCommands   = "match_commands"
	ListSubstrings = "match_argv_substrings"
)

// commBytes is what the kernel keeps of a command name: TASK_COMM_LEN without the NUL.
const commBytes = 15

// Rule is the entry of the configuration that a process fits.
type Rule struct{ List, Entry string }

// Matcher holds one configuration, ready for being asked a thousand times a second. It never changes: safe for concurrent use.
type Matcher struct {
	config reclaim.Config
	// byComm gives, for a command name as the kernel shows it, the entries that it may stand for.
	byComm     map[string][]string
	substrings [][]byte
}

// New prepares a configuration. Empty entries, which would match everything, are refused by reclaim.Parse; should one come by another
// way, it matches nothing.
func New(c reclaim.Config) *Matcher {
	m := &Matcher{config: c, byComm: map[string][]string{}}
	for _, entry := range c.MatchCommands {
		if entry != "" {
			shown := entry[:min(len(entry), commBytes)]
			m.byComm[shown] = append(m.byComm[shown], entry)
		}
	}
	for _, entry := range c.MatchArgvSubstrings {
		if entry != "" {
			m.substrings = append(m.substrings, []byte(entry))
		}
	}
	return m
}

// Config is what the Matcher was made of.
func (m *Matcher) Config() reclaim.Config { return m.config }

// ReadsComm says whether command names matter at all.
func (m *Matcher) ReadsComm() bool { return len(m.byComm) > 0 }

// ReadsArgs says whether arguments matter at all: reading them is half of the cost of a look.
func (m *Matcher) ReadsArgs() bool { return len(m.substrings) > 0 }

// MayMatchComm says whether a process of this command name needs a closer look.
func (m *Matcher) MayMatchComm(comm []byte) bool { return len(m.byComm[string(comm)]) > 0 }

// MayMatchArgs says the same of arguments joined by JoinArgv.
func (m *Matcher) MayMatchArgs(joined []byte) bool {
	for _, s := range m.substrings {
		if bytes.Contains(joined, s) {
			return true
		}
	}
	return false
}

// rule finds the first entry that p fits: commands before substrings, each in the order of the file.
func (m *Matcher) rule(p Process) (Rule, bool) {
	for _, entry := range m.byComm[p.Comm] {
		if len(entry) <= commBytes || p.runs(entry) {
			return Rule{ListCommands, entry}, true
		}
	}
	args := strings.Join(p.Argv, " ")
	for _, s := range m.substrings {
		if strings.Contains(args, string(s)) {
			return Rule{ListSubstrings, string(s)}, true
		}
	}
	return Rule{}, false
}
