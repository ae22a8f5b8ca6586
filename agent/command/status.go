package command

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// statusPatience is how long status waits for the API server.
const statusPatience = 5 * time.Second

func statusCommand(env Env, o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how this machine and its Node stand",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows := append([][2]string{{"configuration", configRow(o.config)}}, nodeRows(lookAtNode(cmd.Context(), env, o), env.Clock.Now())...)
			w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
			for _, row := range rows {
				fmt.Fprintf(w, "%s:\t%s\n", row[0], row[1])
			}
			return w.Flush()
		},
	}
}

// lookAtNode is the first view of the Node, or that it could not be had in time.
func lookAtNode(ctx context.Context, env Env, o *options) node.View {
	ctx, done := context.WithTimeout(ctx, statusPatience)
	defer done()
	link := o.link(env)
	go link.Run(ctx)
	select {
	case v := <-link.Views():
		return v
	case <-ctx.Done():
		return node.View{Standing: node.Away, Detail: fmt.Sprintf("no answer within %s", statusPatience)}
	}
}

func configRow(path string) string {
	c, err := config.Read(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s: %d commands, %d argument substrings, %s between sweeps (%s)", path, len(c.MatchCommands),
		len(c.MatchArgvSubstrings), c.PollInterval(), c.Hash())
}

func nodeRows(v node.View, now time.Time) [][2]string {
	if v.Standing != node.Present {
		return [][2]string{{"Node", v.Detail}}
	}
	return [][2]string{
		{"Node", v.Node.Name + " (" + v.Node.UID + ")"},
		{"label", labelRow(v.Node)},
		{"agent", agentRow(v.Node)},
		{"request", requestRow(v.Node, now)},
	}
}

func labelRow(n node.Node) string {
	value, there := n.Labels[reclaim.LabelAgent]
	if !there {
		return reclaim.LabelAgent + " is not set"
	}
	return reclaim.LabelAgent + "=" + value
}

func agentRow(n node.Node) string {
	text := n.Annotations[reclaim.AnnotationAgentState]
	if text == "" {
		return "has not said anything on this Node"
	}
	s, err := reclaim.ParseAgentState(text)
	if err != nil {
		return fmt.Sprintf("has left something unreadable on this Node: %q", text)
	}
	return fmt.Sprintf("%s, by %s, version %s, configuration %s", s.State, orNone(s.Rung), orNone(s.Version), orNone(s.ConfigHash))
}

func requestRow(n node.Node, now time.Time) string {
	r, there := reclaim.RequestFrom(n.Annotations, now)
	if !there {
		return "none"
	}
	return fmt.Sprintf("%s, since %s", r.Reason, r.At.Format(time.RFC3339))
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
