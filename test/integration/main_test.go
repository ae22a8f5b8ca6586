// Package integration runs the controller, as a process, against real control planes with Cluster API's real core manager; only k0smotron and the
// hosts are a stand-in.
package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	ctrl "sigs.k8s.io/controller-runtime"

	"5spot.finos.org/node-reclaim/controller/manager"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

// asController, in the environment, makes this test binary the controller, so that a test can kill one.
const asController = "TEST_RUN_AS_CONTROLLER"

// patience is long because two cores may carry two control planes and a build.
const (
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
	// stillness is how long a test watches that nothing happens: a removal is long over by then.
	stillness = 2 * time.Second
)

// podsOn is how many pods each host of the lab brings along.
const podsOn = 10

var (
	shared *lab.Lab
	// controller is whom every controller runs as.
	controller *account
)

func TestMain(m *testing.M) {
	if os.Getenv(asController) != "" {
		runController()
	}
	ctrl.SetLogger(logr.Discard())
	if _, err := controlplane.Assets(); err != nil {
		os.Exit(m.Run()) // each test says why it cannot run
	}
	code, err := runInLab(context.Background(), m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	os.Exit(code)
}

func runInLab(ctx context.Context, m *testing.M) (code int, err error) {
	shared, err = lab.Start(ctx, stubk0smotron.Options{HostStopTime: 500 * time.Millisecond, Host: host}, func(string) {})
	if err != nil {
		return 0, err
	}
	defer func() { _ = shared.Stop() }()
	if controller, err = deploy(ctx, shared); err != nil {
		return 0, err
	}
	code = m.Run()
	if code == 0 && wholeRun() {
		err = everyRuleUsed(ctx, shared)
	}
	return code, err
}

func runController() {
	command := manager.Command()
	command.SetArgs(os.Args[1:])
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// wholeRun says that no test was left out.
func wholeRun() bool {
	return flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
}

func host(address string) stubk0smotron.Host {
	return stubk0smotron.Host{Hostname: "desk-" + lastByte(address), Pods: []stubk0smotron.Pods{{
		Name: "app-" + lastByte(address), Count: podsOn, Labels: map[string]string{"app": lastByte(address)},
		ForbidEviction: !strings.HasPrefix(address, "10.0.6."),
	}}}
}

func lastByte(address string) string {
	var a, b, c, d int
	_, _ = fmt.Sscanf(address, "%d.%d.%d.%d", &a, &b, &c, &d)
	return fmt.Sprint(d)
}

// newLab is the shared lab with a controller of this test's own.
func newLab(t *testing.T, flags ...string) (*lab.Lab, context.Context) {
	t.Helper()
	_, l := controllerOf(t, flags...)
	return l, t.Context()
}

// controllerOf is newLab for a test that kills its controller.
func controllerOf(t *testing.T, flags ...string) (*process, *lab.Lab) {
	t.Helper()
	controlplane.Require(t)
	require.NotNil(t, shared)
	return startController(t, controller.kubeconfig, flags...), shared
}
