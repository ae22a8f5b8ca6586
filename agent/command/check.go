package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// report is what check has to say.
type report struct {
	File       string   `json:"file"`
	Hash       string   `json:"hash"`
	Commands   int      `json:"commands"`
	Substrings int      `json:"substrings"`
	Warnings   []string `json:"warnings"`
	Matches    []hit    `json:"matches"`
}

// errMatches ends check and explain with ExitMatch. It is a finding, not a failure, and has been printed.
var errMatches = errors.New("a running process would make this machine leave")

func checkCommand(env Env, o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration, and list the running processes that it would react to",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			print, known := map[string]func(io.Writer, report) error{"text": printReport, "json": encodeReport}[output]
			if !known {
				return &codedError{ExitUsage, fmt.Errorf("--output %q: want text or json", output)}
			}
			r, err := check(env, o.config)
			if err != nil {
				return err
			}
			if err := print(env.Out, r); err != nil {
				return err
			}
			if len(r.Matches) > 0 {
				return &codedError{ExitMatch, errMatches}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func check(env Env, path string) (report, error) {
	c, err := readConfig(path)
	if err != nil {
		return report{}, err
	}
	found, err := hits(env, match.New(c))
	return report{
		File: path, Hash: c.Hash(), Commands: len(c.MatchCommands), Substrings: len(c.MatchArgvSubstrings),
		Warnings: warnings(c), Matches: found,
	}, err
}

func warnings(c reclaim.Config) []string {
	w := []string{}
	if c.Inert() {
		w = append(w, "both lists are empty: nothing is matched")
	}
	for _, s := range c.BroadSubstrings() {
		w = append(w, fmt.Sprintf("match_argv_substrings: %q will match more than programs of that name", s))
	}
	if note := blindness(); note != "" {
		w = append(w, note)
	}
	return w
}

// readConfig tells a machine that has no configuration from a wrong one.
func readConfig(path string) (reclaim.Config, error) {
	c, err := config.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no configuration %s, so nothing is asked of this machine; --config names another file", path)
	}
	if err != nil {
		return c, &codedError{ExitUsage, err}
	}
	return c, nil
}

// blindness says what cannot be seen without root; the agent itself is root.
func blindness() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return "not root: which program others' processes run is not shown to you, so an entry over 15 bytes may fit more than is said here"
}

func encodeReport(out io.Writer, r report) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func printReport(out io.Writer, r report) error {
	fmt.Fprintf(out, "%s: good, %d commands, %d argument substrings (%s)\n", r.File, r.Commands, r.Substrings, r.Hash)
	for _, w := range r.Warnings {
		fmt.Fprintf(out, "warning: %s\n", w)
	}
	for _, m := range r.Matches {
		fmt.Fprintf(out, "match: PID %d %q by %s %q\n", m.PID, m.Comm, m.List, m.Entry)
	}
	_, err := fmt.Fprintf(out, "running processes that match: %d\n", len(r.Matches))
	return err
}
