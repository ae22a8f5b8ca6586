// Package command is the agent's command line: it reads flags, puts the parts together, and prints. It must not decide anything that
// the parts could decide.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// Exit codes.
const (
	ExitOK = 0
	// ExitFailed: it could not be done; the error says why.
	ExitFailed = 1
	// ExitUsage: the command line or the configuration file is wrong.
	ExitUsage = 2
	// ExitMatch: check and explain found a process that would make this machine leave.
	ExitMatch = 3
)

// Env is the world that the commands act on.
type Env struct {
	Version string
	Out     io.Writer
	Err     io.Writer
	Clock   clock.WithTicker
	// Getenv is os.Getenv.
	Getenv func(string) string
	// Proc is /proc.
	Proc string
	// MachineID is /etc/machine-id.
	MachineID string
	// Installed is the record that the installer leaves on a host.
	Installed string
	// Root of the host's file system, and Program, the one that runs here: what the installer works on, and what it installs.
	Root    string
	Program string
}

// options are the flags that several commands share.
type options struct {
	config      string
	kubeconfigs []string
	nodeName    string
	skipHostID  bool
}

const long = `The agent of a workstation that is lent to a cluster: when one of the owner's programs starts, it asks on its own Node that the
machine leaves.

Exit codes: 0 done; 1 failed; 2 wrong command line or configuration; 3 (check, explain) a process would make this machine leave.`

// Run carries out one command line and gives the exit code.
func Run(ctx context.Context, env Env, args []string) int {
	understood := false
	root := newRoot(env, &understood)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !errors.Is(err, errMatches) {
		fmt.Fprintln(env.Err, "5spot-reclaim-agent:", err)
	}
	if err != nil && !understood {
		return ExitUsage
	}
	return exitCode(err)
}

// newRoot sets understood once a command line has been accepted: what fails before is the caller's mistake.
func newRoot(env Env, understood *bool) *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:              "5spot-reclaim-agent",
		Short:            "Gives a lent workstation back when its owner starts to work",
		Long:             long,
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { *understood = true },
	}
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&o.config, "config", reclaim.ConfigPath, "the configuration file")
	flags.StringArrayVar(&o.kubeconfigs, "kubeconfig", node.DefaultKubeconfigs(), "the kubelet's kubeconfig; of several, the first that exists")
	flags.StringVar(&o.nodeName, "node-name", "", "the name of this machine's Node (default: as in the kubelet's client certificate)")
	flags.BoolVar(&o.skipHostID, "skip-host-id-check", false, "do not require that the Node has this host's machine id")
	root.AddCommand(runCommand(env, o), checkCommand(env, o), explainCommand(env, o), reclaimCommand(env, o), statusCommand(env, o),
		syncCommand(env), uninstallCommand(env), versionCommand(env))
	return root
}

// link is the link to the own Node that the flags ask for.
func (o *options) link(env Env) *node.Link {
	l := node.Options{Kubeconfigs: o.kubeconfigs, NodeName: o.nodeName, MachineIDFile: env.MachineID, Version: env.Version, Clock: env.Clock}
	if o.skipHostID {
		l.MachineIDFile = ""
	}
	return node.NewLink(l)
}

// codedError is an error that ends the program with a certain exit code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// exitCode is what the program ends with after a command that was understood.
func exitCode(err error) int {
	var coded *codedError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.code
	}
	return ExitFailed
}
