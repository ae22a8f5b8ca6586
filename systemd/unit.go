// Package systemd carries the unit that runs the agent on a host, for whoever installs it. It must not know how it is installed.
package systemd

import _ "embed"

// UnitName is what the unit is called on a host.
const UnitName = "5spot-reclaim-agent.service"

//go:embed 5spot-reclaim-agent.service
var unit string

// Unit is the content of the unit file.
func Unit() string { return unit }
