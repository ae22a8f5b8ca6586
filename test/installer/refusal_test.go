package installer

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRefusals(t *testing.T) {
	s := newStage(t)
	for _, r := range []refusal{
		{
			name:   "a foreign file",
			spoil:  func(s *stage) { require.NoError(s.t, os.WriteFile(s.host.Path(program), []byte("mine"), 0o755)) },
			mend:   func(s *stage) { s.host.Run("rm", program) },
			says:   program + " on this host was not put there by this DaemonSet",
			reason: "ReclaimAgentForeignFile",
		},
		{
			name:   "a masked unit",
			spoil:  func(s *stage) { s.host.Run("systemctl", "mask", unit) },
			mend:   func(s *stage) { s.host.Run("systemctl", "unmask", unit) },
			says:   unit + " is masked on this host",
			reason: "ReclaimAgentUnitMasked",
		},
		{
			name:   "a read-only target",
			spoil:  func(s *stage) { s.host.Run("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "/usr/local/bin") },
			mend:   func(s *stage) { s.host.Run("umount", "/usr/local/bin") },
			says:   "/usr/local/bin is not writable",
			reason: "ReclaimAgentHostUnsuitable",
			anew:   true,
		},
		{
			name:   "a target without programs",
			spoil:  func(s *stage) { s.host.Run("mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", "/usr/local/bin") },
			mend:   func(s *stage) { s.host.Run("umount", "/usr/local/bin") },
			says:   "/usr/local/bin is mounted noexec",
			reason: "ReclaimAgentHostUnsuitable",
			anew:   true,
		},
		{
			name:   "another machine",
			spoil:  func(s *stage) { s.reports("00000000000000000000000000000000") },
			mend:   func(s *stage) { s.reports(s.host.MachineID()) },
			says:   `the Node has machine id "00000000000000000000000000000000" and this host has "` + s.host.MachineID() + `"`,
			reason: "ReclaimAgentOtherMachine",
		},
	} {
		s.scene(r.name, r.play)
	}
}

// refusal is something on the host that the installer must not do anything about.
type refusal struct {
	name        string
	spoil, mend func(*stage)
	says        string
	reason      string
	// anew: a pod sees mounts as they were when it was started.
	anew bool
}

// play: nothing is touched and somebody is told, once; when it is mended, the pod goes on.
func (r refusal) play(s *stage) {
	r.spoil(s)
	before := s.files()
	p := s.start(image)
	p.awaitRefusal(r.says)
	s.awaitWarning(r.reason)
	require.Equal(s.t, before, s.files())
	require.Equal(s.t, "inactive", s.show("ActiveState"))
	r.mend(s)
	if r.anew {
		p.stop()
		p = s.start(image)
	}
	p.awaitReady()
	require.Len(s.t, s.warnings(r.reason), 1)
}

func (s *stage) awaitWarning(reason string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return len(s.warnings(reason)) == 1 }, patience, poll, "%s", s.journal())
}
