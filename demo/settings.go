package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

// Watchers that the demo knows.
const (
	watcherAgent = "agent"
	watcherShell = "shell"
)

// settings are the demo's environment.
type settings struct {
	watcher string
	broken  bool
	keep    bool
}

func fromEnvironment() (settings, error) {
	s := settings{watcher: os.Getenv("DEMO_WATCHER"), keep: os.Getenv("DEMO_KEEP") == "1"}
	if keep := os.Getenv("DEMO_KEEP"); keep != "" && keep != "0" && keep != "1" {
		return s, fmt.Errorf("DEMO_KEEP=%s: 1 leaves everything running until Ctrl-C", keep)
	}
	if s.watcher == "" {
		s.watcher = watcherAgent
	}
	if s.watcher != watcherAgent && s.watcher != watcherShell {
		return s, fmt.Errorf("DEMO_WATCHER=%s: the watcher is %s or %s", s.watcher, watcherAgent, watcherShell)
	}
	switch broken := os.Getenv("DEMO_BREAK"); broken {
	case "":
	case "watcher":
		s.broken = true
	default:
		return s, fmt.Errorf("DEMO_BREAK=%s: only the watcher can be broken: DEMO_BREAK=watcher", broken)
	}
	return s, nil
}

// spaceNeeded is for two etcds and their logs.
const spaceNeeded = 512 << 20

// preflight says all that is missing before anything is started. Ports are no matter: the kernel chooses free ones.
func preflight(settings) error {
	var errs []error
	if _, err := controlplane.Assets(); err != nil {
		errs = append(errs, err)
	}
	for program, from := range map[string]string{"bash": "bash", "go": "golang", "pgrep": "procps", "sleep": "coreutils"} {
		if _, err := exec.LookPath(program); err != nil {
			errs = append(errs, fmt.Errorf("%s is missing: install the package %s", program, from))
		}
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(os.TempDir(), &stat); err != nil {
		errs = append(errs, fmt.Errorf("looking at %s: %w", os.TempDir(), err))
	} else if free := stat.Bavail * uint64(stat.Bsize); free < spaceNeeded {
		errs = append(errs, fmt.Errorf("%s has %d MiB free, %d are needed; set TMPDIR to a larger place", os.TempDir(), free>>20, spaceNeeded>>20))
	}
	return errors.Join(errs...)
}
