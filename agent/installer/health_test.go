package installer

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// A workstation whose clock ran fast at boot, until it was set by the network's.
func TestAStartInTheFutureIsNotRecent(t *testing.T) {
	m := installedMachine(t)
	require.ErrorContains(t, m.installer().Health(t.Context()), "active for less than 5s")
	m.systemd.Age(-time.Hour)
	require.NoError(t, m.installer().Health(t.Context()))
}

// An operator's drop-in, or a host that lacks something, keeps the unit down: what started it once a second would fill the journal for ever.
func TestAUnitThatStaysDownIsStartedEverMoreSeldom(t *testing.T) {
	m, now := installedMachine(t), clocktesting.NewFakeClock(now)
	i := m.installer()
	i.opts.Clock = now
	m.systemd.Sickly = true
	m.systemd.Fail()
	for range 10 * 60 {
		require.NoError(t, i.Install(t.Context(), owner(), []byte(java)))
		now.Step(time.Second)
	}
	require.Len(t, m.systemd.Jobs, 15, "seven within a minute, then one a minute")
	require.Equal(t, 1, strings.Count(m.log.String(), "agent started\""))
}

func TestAUnitThatStaysDownIsAskedForEverMoreSeldom(t *testing.T) {
	s := settled(t)
	s.systemd.Sickly = true
	s.systemd.Fail()
	var pauses []time.Duration
	for range hopeful + 2 {
		pauses = append(pauses, s.sync.round(t.Context()))
	}
	require.Equal(t, []time.Duration{soon, retry, retry}, pauses[hopeful-1:])
}

func TestARefusalIsShortHoweverLongItsCause(t *testing.T) {
	s := settled(t)
	s.api.view.ConfigMap.Text = "match_commands = [\"/" + strings.Repeat("é", 200_000) + "\"]\n"
	s.sync.round(t.Context())
	require.ErrorContains(t, s.ready(), "stays as it is until this is corrected")
	require.Less(t, len(s.ready().Error()), 1100)
}

// Whoever may write the ConfigMap could fill the cluster with events.
func TestATextThatChangesWithoutEndMakesOneEventAMinute(t *testing.T) {
	s := settled(t)
	for n := range 150 {
		s.api.view.Node.At, s.api.view.DaemonSet.At, s.api.view.ConfigMap.At = s.clock.Now(), s.clock.Now(), s.clock.Now()
		s.api.view.ConfigMap.Text = fmt.Sprintf("a%d = 1\n", n)
		s.sync.round(t.Context())
		s.clock.Step(time.Second)
	}
	require.Len(t, s.api.warned, 3)
}

func TestALongTextIsCutInItsMiddle(t *testing.T) {
	text := refuse("r", "begin %s end", strings.Repeat("é", 1000)).Error()
	require.True(t, strings.HasPrefix(text, "begin é") && strings.HasSuffix(text, "é end") && utf8.ValidString(text), text)
	require.Less(t, len(text), 1100)
}
