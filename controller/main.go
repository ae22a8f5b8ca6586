// 5spot-controller runs on the management cluster. It lends machines to child clusters on a schedule, and takes one out at once when
// its owner wants it back.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"5spot.finos.org/node-reclaim/controller/manager"
)

func main() {
	command := manager.Command()
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "5spot-controller:", err)
		os.Exit(1)
	}
}
