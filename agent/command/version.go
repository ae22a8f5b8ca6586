package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

func versionCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Out, env.Version)
			return err
		},
	}
}
