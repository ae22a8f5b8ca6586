// Package manager puts the controllers together into one process: flags, caches, health.
package manager

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	_ "time/tzdata" // the image holds no zone database
)

// Options are the process's flags.
type Options struct {
	// LeaderElect: of several replicas one acts, and the others stand by. Namespace is where they agree on it.
	LeaderElect bool
	Namespace   string
	// SuspendEject: no removal begins because a Node asks for it.
	SuspendEject bool
	// PodKillWait is how long a Machine's DELETE waits for its pods to end in an emergency.
	PodKillWait time.Duration
	// HealthAddress and MetricsAddress are listened on; "0" is off.
	HealthAddress  string
	MetricsAddress string
	// LogFormat is text or json, written to LogTo, which is standard error when nil.
	LogFormat string
	LogTo     io.Writer
}

// Command is the program's command line.
func Command() *cobra.Command {
	var o Options
	var kubeconfig string
	command := &cobra.Command{
		Use:           "5spot-controller",
		Short:         "Lends workstations to child clusters on a schedule, and takes one back at once when its owner wants it",
		Long:          long,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PreRunE:       func(cmd *cobra.Command, _ []string) error { return fromEnvironment(cmd.Flags(), os.LookupEnv) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := managementCluster(kubeconfig)
			if err != nil {
				return err
			}
			return Run(cmd.Context(), cluster, o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster; default: KUBECONFIG, then the pod's own ServiceAccount")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "of several replicas, let one act while the others stand by")
	flags.StringVar(&o.Namespace, "namespace", "5spot-system", "the controller's own namespace, where the replicas' Lease is")
	flags.BoolVar(&o.SuspendEject, "suspend-eject", false,
		"begin no removal that a Node asks for, and say so on its ScheduledMachine; without the flag again, what is still asked for happens. "+
			"Removals that have begun are ended, what is held out stays out, and the kill switch works")
	flags.DurationVar(&o.PodKillWait, "pod-kill-wait", 10*time.Second,
		"how long, in an emergency, the Machine's DELETE waits for the node's pods to end; 0: not at all, right where the host's clean-up kills them")
	flags.StringVar(&o.HealthAddress, "health-address", ":8081", "address of /healthz and /readyz; 0: off")
	flags.StringVar(&o.MetricsAddress, "metrics-address", "127.0.0.1:8080", "address of /metrics; 0: off")
	flags.StringVar(&o.LogFormat, "log-format", "text", "text or json")
	return command
}

const long = `Lends workstations to child clusters on a schedule, and takes one back at once when its owner wants it.

Every flag may be given as an environment variable: FIVESPOT_ and its name in capitals, with _ for -. The command line wins.`

func managementCluster(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		cluster, err := config.GetConfig()
		if err != nil {
			return nil, fmt.Errorf("finding the management cluster: %w; give --kubeconfig", err)
		}
		return cluster, nil
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return cluster, nil
}

func (o Options) validate() error {
	if o.PodKillWait < 0 {
		return errors.New("--pod-kill-wait must not be negative; 0 is no wait")
	}
	if o.LogFormat != "text" && o.LogFormat != "json" {
		return fmt.Errorf("--log-format %q is neither text nor json", o.LogFormat)
	}
	return nil
}

func (o Options) logger() logr.Logger {
	to := o.LogTo
	if to == nil {
		to = os.Stderr
	}
	if o.LogFormat == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(to, nil))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(to, nil))
}
