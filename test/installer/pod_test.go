package installer

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// pod is a running installer. systemd, which is there anyway, runs it with a pod's few rights.
type pod struct {
	*stage
	unit string
}

// start runs an image of the installer.
func (s *stage) start(image string) *pod {
	s.t.Helper()
	s.pods++
	p := &pod{stage: s, unit: fmt.Sprintf("pod-%d-%d", s.host.Leader(), s.pods)}
	args := []string{"systemd-run", "--quiet", "--unit=" + p.unit, "-p", "CapabilityBoundingSet=", "-p", "NoNewPrivileges=yes",
		"-p", "ProtectSystem=strict", "-p", "PrivateDevices=yes", "-p", "TimeoutStopSec=30", "-p",
		"ReadWritePaths=/usr/local/bin /etc/systemd/system /etc/5spot /var/lib/5spot-reclaim-agent /run/systemd", "-p", "RuntimeDirectory=5spot-installer"}
	for _, pair := range s.environment() {
		args = append(args, "--setenv="+pair)
	}
	s.host.Run(append(args, image, "sync")...)
	s.t.Cleanup(func() { p.stop() })
	return p
}

// stop is what happens to a pod that is deleted: SIGTERM, and time to end. It may have ended before.
func (p *pod) stop() { _ = p.host.Enter("systemctl", "stop", p.unit).Run() }

// kill ends it at once, if it still is there.
func (p *pod) kill() {
	_ = p.host.Enter("systemctl", "kill", "--signal=KILL", p.unit).Run()
	p.stop()
	_ = p.host.Enter("systemctl", "reset-failed", p.unit).Run()
}

// probe is the readiness probe: nothing when the pod is ready.
func (p *pod) probe() string {
	out, err := p.host.Enter(image, "sync", "--ready").CombinedOutput()
	if err == nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "5spot-reclaim-agent: "))
}

func (p *pod) awaitReady() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.probe() == "" }, patience, poll, "last said: %s\n%s", p.probe(), p.journal())
}

// awaitRefusal waits until the pod is not ready and says this.
func (p *pod) awaitRefusal(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.probe(), text) }, patience, poll, "want %q, last said: %s\n%s",
		text, p.probe(), p.journal())
}
