package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"5spot.finos.org/node-reclaim/agent/installer"
	"5spot.finos.org/node-reclaim/agent/installer/cluster"
	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/agent/installer/manager"
	"5spot.finos.org/node-reclaim/systemd"
)

// defaultDaemonSet is what the DaemonSet is called unless DAEMONSET_NAME says otherwise.
const defaultDaemonSet = "5spot-reclaim-agent"

func syncCommand(env Env) *cobra.Command {
	var format string
	var ready bool
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Keep the agent installed on the host of this pod for as long as the Node asks for it",
		Long: `Runs as the container of the DaemonSet, with the host's directories mounted at their own paths. NODE_NAME and POD_NAMESPACE name the
Node and the namespace of the DaemonSet, DAEMONSET_NAME the DaemonSet itself. On SIGTERM it takes the agent off the host if the Node,
its label or the DaemonSet is gone, and leaves it otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ready {
				return installer.Ready(hostfs.At(env.Root), env.Clock.Now())
			}
			log, err := logger(env, format)
			if err != nil {
				return err
			}
			return keepInSync(cmd.Context(), env, log)
		},
	}
	cmd.Flags().StringVar(&format, "log-format", "text", "text or json")
	cmd.Flags().BoolVar(&ready, "ready", false, "only say whether the agent is installed and running, for a readiness probe")
	return cmd
}

// keepInSync watches the API server and keeps the host equal to it until ctx ends. The watches go on a little longer: the last look at
// whether the agent has to go relies on them.
func keepInSync(ctx context.Context, env Env, log *slog.Logger) error {
	options, err := clusterOptions(env)
	if err != nil {
		return &codedError{ExitUsage, err}
	}
	api, err := cluster.Connect(options)
	if err != nil {
		return err
	}
	watching, done := context.WithCancel(context.WithoutCancel(ctx))
	var watches sync.WaitGroup
	watches.Go(func() { api.Run(watching) })
	defer watches.Wait()
	defer done()
	log.Info("installer started", "version", env.Version, "node", options.NodeName)
	return installer.NewSync(installer.SyncOptions{
		Installer: newInstaller(env, log), Files: hostfs.At(env.Root), API: api, Clock: env.Clock, Log: log, NodeName: options.NodeName,
	}).Run(ctx)
}

func newInstaller(env Env, log *slog.Logger) *installer.Installer {
	return installer.New(installer.Options{
		Files: hostfs.At(env.Root), Systemd: manager.At(env.Root, systemd.UnitName), Clock: env.Clock, Log: log, Version: env.Version,
		Program: func() (io.ReadCloser, error) { return os.Open(env.Program) }, Architecture: runtime.GOARCH,
	})
}

// clusterOptions are what the pod's environment says.
func clusterOptions(env Env) (cluster.Options, error) {
	o := cluster.Options{NodeName: env.Getenv("NODE_NAME"), Namespace: env.Getenv("POD_NAMESPACE"), DaemonSet: env.Getenv("DAEMONSET_NAME"),
		Version: env.Version, Clock: env.Clock}
	if o.DaemonSet == "" {
		o.DaemonSet = defaultDaemonSet
	}
	if o.NodeName == "" || o.Namespace == "" {
		return o, errors.New("NODE_NAME and POD_NAMESPACE have to be set: sync runs in the pod of the DaemonSet, see deploy/node-agent")
	}
	var err error
	if o.Config, err = rest.InClusterConfig(); err != nil {
		return o, fmt.Errorf("sync runs in the pod of the DaemonSet, with its ServiceAccount: %w", err)
	}
	return o, nil
}
