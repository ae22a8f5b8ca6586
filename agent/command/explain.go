package command

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"5spot.finos.org/node-reclaim/agent/match"
)

func explainCommand(env Env, o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "explain PID",
		Short: "Say why a running process would make this machine leave, or why not",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid < 1 {
				return &codedError{ExitUsage, fmt.Errorf("%q is not a process id", args[0])}
			}
			c, err := readConfig(o.config)
			if err != nil {
				return err
			}
			p, err := look(env, pid)
			if err != nil {
				return err
			}
			v := match.New(c).Judge(p)
			explain(env.Out, p, v)
			if v.Fires() {
				return &codedError{ExitMatch, errMatches}
			}
			return nil
		},
	}
}

func explain(out io.Writer, p match.Process, v match.Verdict) {
	fmt.Fprintf(out, "PID %d\n  command:   %q\n  arguments: %q\n", p.PID, p.Comm, p.Argv)
	if p.Exe != "" {
		fmt.Fprintf(out, "  program:   %q\n", p.Exe)
	}
	fmt.Fprintf(out, "  cgroup:    %q\n", p.Cgroup)
	fmt.Fprintln(out, conclusion(v))
	if note := blindness(); note != "" {
		fmt.Fprintln(out, "warning:", note)
	}
}

func conclusion(v match.Verdict) string {
	rule := fmt.Sprintf("it fits %s %q", v.Rule.List, v.Rule.Entry)
	switch {
	case v.Fires():
		return "would make this machine leave: " + rule
	case v.Fits:
		return fmt.Sprintf("ignored: %s, but it is %s", rule, v.Ignored)
	case v.Ignored != "":
		return fmt.Sprintf("ignored: it fits no entry, and it is %s", v.Ignored)
	}
	return "would not: it fits no entry"
}
