package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/agent/reclaimer"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

func reclaimCommand(env Env, o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "reclaim [REASON]...",
		Short: "Ask for this machine now, without waiting for a program to start",
		Long: `Puts a request on this machine's Node, as if a program had been started, with the reason "manual: REASON". A request that is there
already stays. Without REASON it says "asked for on the machine itself". While the API server does not answer, it goes on trying; Ctrl-C gives up.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			reason := strings.Join(args, " ")
			if reason == "" {
				reason = "asked for on the machine itself"
			}
			request := reclaim.Request{Reason: reclaimer.Manual(reason), At: env.Clock.Now()}
			n, err := askByHand(cmd.Context(), env, o, request)
			if errors.Is(err, context.Canceled) {
				return errors.New("given up before the API server said that the request is stored")
			}
			if err != nil {
				return err
			}
			return tell(env, n, request)
		},
	}
}

// askByHand runs a link for as long as the one request takes.
func askByHand(ctx context.Context, env Env, o *options, request reclaim.Request) (node.Node, error) {
	link := o.link(env)
	linked, done := context.WithCancel(ctx)
	defer done()
	go link.Run(linked)
	return reclaimer.ByHand(ctx, link, request, func(line string) { fmt.Fprintln(env.Err, line) })
}

// tell says whose request the Node carries now.
func tell(env Env, n node.Node, request reclaim.Request) error {
	there, _ := reclaim.RequestFrom(n.Annotations, env.Clock.Now())
	word := "asked to leave"
	if !there.At.Equal(request.At) {
		word = "had been asked to leave before"
	}
	_, err := fmt.Fprintf(env.Out, "Node %s: %s (%s)\n", n.Name, word, there.Reason)
	return err
}
