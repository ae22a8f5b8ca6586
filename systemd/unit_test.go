package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxExposure is the score that the unit may have, in tenths: 3.0 of 10.
const maxExposure = "30"

// analyze runs systemd-analyze, which is in Debian's package systemd and needs no running systemd.
func analyze(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal("systemd-analyze is not installed (Debian package systemd)")
	} else if err != nil {
		t.Skip("systemd-analyze is not installed (Debian package systemd)")
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

func TestTheUnitIsHardened(t *testing.T) {
	analyze(t, "security", "--no-pager", "--offline=true", "--threshold="+maxExposure, UnitName)
}

// verify complains about unknown settings, but also about a program that is not installed here; so that one is put in its place.
func TestTheUnitIsUnderstood(t *testing.T) {
	path := filepath.Join(t.TempDir(), UnitName)
	local := strings.ReplaceAll(Unit(), "/usr/local/bin/5spot-reclaim-agent", "/bin/true")
	require.NoError(t, os.WriteFile(path, []byte(local), 0o644))
	analyze(t, "verify", "--man=no", path)
}

// Each of these would take away what the agent lives from, or keep it from coming back.
func TestTheUnitLeavesOutWhatBreaksTheAgent(t *testing.T) {
	for line := range strings.Lines(Unit()) {
		for _, setting := range []string{"Condition", "Assert", "PrivateUsers=", "PrivateNetwork=", "PrivatePIDs=", "ProtectProc=",
			"ProcSubset=", "LoadCredential=", "User=", "DynamicUser="} {
			require.False(t, strings.HasPrefix(line, setting), line)
		}
	}
}
