package installer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
)

// silence is how long after its last word an installer counts as hanging. It says something in every round.
const silence = 2 * time.Minute

// tell leaves word for Ready: nothing when all is well, else why not.
func tell(files Files, fault error) error {
	text := ""
	if fault != nil {
		text = strings.ReplaceAll(fault.Error(), "\n", "; ") + "\n"
	}
	return files.Replace(readyPath, strings.NewReader(text), textMode)
}

// Ready is the readiness probe: it says why the agent is not installed and running as its Node asks for, or nothing. It goes by what the
// installer said last.
func Ready(files Files, now time.Time) error {
	f, err := files.Look(readyPath)
	if err != nil {
		return err
	}
	if f.Kind == hostfs.Nothing {
		return errors.New("the installer has not looked at this host yet")
	}
	text, err := files.Read(readyPath)
	switch {
	case err != nil:
		return err
	case now.Sub(f.Written).Abs() > silence: // a clock that was put back must not make one that hangs look well
		return fmt.Errorf("the installer has said nothing since %s: it hangs", f.Written.UTC().Format(time.RFC3339))
	case len(text) > 0:
		return errors.New(strings.TrimSuffix(string(text), "\n"))
	}
	return nil
}
