package installer

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// Each row ends one installation by force as soon as a file is there, and one removal as soon as a file is gone. The next pod has to
// bring either to its end.
func TestKilled(t *testing.T) {
	s := newStage(t)
	s.scene("half removed, and wanted again", wantedAgain)
	for _, point := range []struct{ there, gone string }{
		{record, linkPath},
		{program, unitPath},
		{unitPath, reclaim.ConfigPath},
		{linkPath, program},
	} {
		s.scene("installing until "+point.there+", removing until "+point.gone, func(s *stage) {
			p := s.start(image)
			p.killWhen(func() bool { return s.exists(point.there) })
			p = s.start(image)
			p.awaitReady()
			require.NoFileExists(s.t, s.host.Path(hostfs.NewPath(program)))
			s.isTheSame(image, program)

			p.killWhen(func() bool { return !s.exists(point.gone) }, s.unlabel)
			s.start(image)
			s.awaitPristine()
			require.Equal(s.t, "inactive", s.show("ActiveState"))
		})
	}
}

func wantedAgain(s *stage) {
	p := s.start(image)
	p.awaitReady()
	p.killWhen(func() bool { return !s.exists(unitPath) }, s.unlabel)
	s.setNode(func(n *corev1.Node) { n.Labels[reclaim.LabelAgent] = reclaim.LabelAgentEnabled })
	s.start(image).awaitReady()
}

func (s *stage) exists(path string) bool {
	_, err := os.Lstat(s.host.Path(path))
	return err == nil
}

// killWhen kills the installer at the moment when something is so. systemctl would take its time. What makes it so comes after the
// PID is known: a removal does not take long.
func (p *pod) killWhen(so func() bool, causes ...func()) {
	p.t.Helper()
	pid := p.pid()
	for _, cause := range causes {
		cause()
	}
	require.Eventually(p.t, so, patience, time.Millisecond, "%s", p.journal())
	require.NoError(p.t, syscall.Kill(pid, syscall.SIGKILL))
	p.kill()
}

// pid of the installer on this machine: it is a child of the host's systemd.
func (p *pod) pid() (pid int) {
	p.t.Helper()
	leader := strconv.Itoa(p.host.Leader())
	require.Eventually(p.t, func() bool {
		children, _ := os.ReadFile("/proc/" + leader + "/task/" + leader + "/children")
		for _, child := range strings.Fields(string(children)) {
			argv, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if string(argv) == image+"\x00sync\x00" {
				pid, _ = strconv.Atoi(child)
				return true
			}
		}
		return false
	}, patience, time.Millisecond, "the installer does not run\n%s", p.journal())
	return pid
}
