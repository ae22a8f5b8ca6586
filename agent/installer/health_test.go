package installer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A workstation whose clock ran fast at boot, until it was set by the network's.
func TestAStartInTheFutureIsNotRecent(t *testing.T) {
	m := installedMachine(t)
	require.ErrorContains(t, m.installer().Health(t.Context()), "active for less than 5s")
	m.systemd.Age(-time.Hour)
	require.NoError(t, m.installer().Health(t.Context()))
}
