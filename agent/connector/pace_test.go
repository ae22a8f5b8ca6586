package connector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// feed has execs come one by one, so far apart, and reads each.
func feed(t *testing.T, s *script, c *Conn, n int, apart time.Duration) {
	t.Helper()
	for range n {
		s.t = s.t.Add(apart)
		s.execs(11)
		require.Equal(t, 11, next(t, c))
	}
}

func TestDenseExecsGather(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	feed(t, s, c, 50, time.Millisecond)
	require.True(t, c.pace.dense)

	_, err := c.receive()
	require.NoError(t, err)
	require.Equal(t, 1, s.naps, "the queue was empty")

	s.execs(12, 13)
	require.Equal(t, []int{12, 13}, []int{next(t, c), next(t, c)})
	require.Equal(t, 1, s.naps, "and now it is not")
}

func TestSparseExecsAreSeenAtOnce(t *testing.T) {
	for name, apart := range map[string]time.Duration{"a build's rate": 3 * time.Millisecond, "now and then": time.Second} {
		s := newScript()
		c := dialScript(t, s)
		feed(t, s, c, 100, apart)
		require.False(t, c.pace.dense, name)
		require.Zero(t, s.naps, name)
	}
}

func TestAfterAStormTheFeedIsWaitedForAndProbedAgain(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	feed(t, s, c, 50, time.Millisecond)
	began := s.t
	for len(s.sent) < 2 {
		_, err := c.receive()
		require.NoError(t, err)
	}
	require.LessOrEqual(t, s.naps, int(2*paceWindow/gather))
	require.GreaterOrEqual(t, s.t.Sub(began), silence)
}

func TestAnOverflowInAStormIsReported(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	feed(t, s, c, 50, time.Millisecond)
	s.overflow()
	_, err := c.Next()
	require.ErrorIs(t, err, ErrOverflow)
}

// flood is a script on which execs come all the time, a thousand a second.
type flood struct{ *script }

func (f flood) Receive(b []byte, deadline time.Time) (int, uint32, error) {
	if len(f.queue) == 0 && deadline.After(f.t) {
		f.t = f.t.Add(time.Millisecond)
		f.execs(11)
	}
	return f.script.Receive(b, deadline)
}

func (f flood) Nap(d time.Duration) {
	f.script.Nap(d)
	f.execs(11, 12)
}

func TestCase22_AFeedThatIsNotOursInAStorm(t *testing.T) {
	s := newScript()
	s.answers = false
	began := s.t
	_, err := dial(t.Context(), flood{s}, s.now)
	require.ErrorIs(t, err, ErrNoAck)
	require.LessOrEqual(t, s.t.Sub(began), ackTimeout+paceWindow)
}
