package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"5spot.finos.org/node-reclaim/agent/installer"
)

func uninstallCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Take the agent that a DaemonSet has installed off this host",
		Long: `Stops the agent and removes what was installed, as far as it is still as it was put there. Whatever the Node and its label say: while the
DaemonSet still has a pod here, that pod will install the agent again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(env, "text")
			if err != nil {
				return err
			}
			removal, err := newInstaller(env, log).Uninstall(cmd.Context())
			if err != nil {
				return err
			}
			return tellRemoval(env, removal)
		},
	}
}

func tellRemoval(env Env, r installer.Removal) error {
	for _, left := range r.Left {
		fmt.Fprintf(env.Out, "left %s: %s\n", left.Path, left.Why)
	}
	text := "the agent is gone from this host"
	if !r.Found {
		text = "no DaemonSet has installed an agent on this host: nothing was done"
	}
	_, err := fmt.Fprintln(env.Out, text)
	return err
}
