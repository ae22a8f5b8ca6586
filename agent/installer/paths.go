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
	// lockPath is beside the record, where only root may write: whoever can open a lock can keep it from us, and make what is in its place.
	// It goes with the one who holds it.
	lockPath = "/var/lib/5spot-reclaim-agent/lock"
	// readyPath is in a volume of the pod's own, which the host's users do not reach.
	readyPath = "/run/5spot-installer/ready"

	programMode fs.FileMode = 0o755
	textMode    fs.FileMode = 0o644
)

// installed are the files that make up the agent, in the order in which they are put there. Each makes sense without the later ones.
func installed() []string { return []string{ProgramPath, reclaim.ConfigPath, UnitPath} }
