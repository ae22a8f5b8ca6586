package installer

import (
	"io/fs"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/systemd"
)

// Where things are on a host.
const (
	ProgramPath = "/usr/local/bin/5spot-reclaim-agent"
	UnitPath    = "/etc/systemd/system/" + systemd.UnitName
	// RecordPath says what was installed here. The agent looks for it, too: only where it is there does a label that is gone mean that the
	// agent is not wanted.
	RecordPath = "/var/lib/5spot-reclaim-agent/installed.json"

	machineIDPath = "/etc/machine-id"
	lockPath      = "/run/lock/5spot-reclaim-agent.lock"
	readyPath     = "/run/lock/5spot-reclaim-agent.ready"

	programMode fs.FileMode = 0o755
	textMode    fs.FileMode = 0o644
)

// installed are the files that make up the agent, in the order in which they are put there. Each makes sense without the later ones.
func installed() []string { return []string{ProgramPath, reclaim.ConfigPath, UnitPath} }
