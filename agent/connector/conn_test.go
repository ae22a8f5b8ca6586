package connector

import (
	"encoding/binary"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a wire whose queue the test fills. Waiting on an empty queue takes no time: the clock jumps to the deadline.
type script struct {
	t     time.Time
	queue []item
	sent  []uint32 // operations
	// answers: an acknowledgement is queued for each request to listen.
	answers bool
	errno   uint32
	closed  bool
	naps    int
}

type item struct {
	b    []byte
	from uint32
	err  error
}

func newScript() *script { return &script{t: time.Unix(1e9, 0), answers: true} }

func (s *script) now() time.Time { return s.t }

func (s *script) Send(b []byte) error {
	op := binary.NativeEndian.Uint32(b[headerBytes:])
	s.sent = append(s.sent, op)
	if op == opListen && s.answers {
		s.queue = append(s.queue, item{b: ackEvent(binary.NativeEndian.Uint32(b[cnAt+12:]), s.errno)})
	}
	return nil
}

func (s *script) Receive(b []byte, deadline time.Time) (int, uint32, error) {
	if len(s.queue) == 0 {
		if deadline.After(s.t) {
			s.t = deadline
		}
		return 0, 0, os.ErrDeadlineExceeded
	}
	i := s.queue[0]
	s.queue = s.queue[1:]
	return copy(b, i.b), i.from, i.err
}

func (s *script) Nap(d time.Duration) {
	s.t = s.t.Add(d)
	s.naps++
}

func (s *script) Close() error { s.closed = true; return nil }

func (s *script) execs(tgids ...uint32) {
	for _, tgid := range tgids {
		s.queue = append(s.queue, item{b: execEvent(tgid)})
	}
}

func (s *script) overflow() { s.queue = append([]item{{err: syscall.ENOBUFS}}, s.queue...) }

func dialScript(t *testing.T, s *script) *Conn {
	t.Helper()
	c, err := dial(t.Context(), s, s.now)
	require.NoError(t, err)
	return c
}

// next is what Next gives, as one value.
func next(t *testing.T, c *Conn) int {
	t.Helper()
	tgid, err := c.Next()
	require.NoError(t, err)
	return tgid
}

func TestExecsComeInOrder(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	s.execs(11, 12)
	require.Equal(t, []int{11, 12}, []int{next(t, c), next(t, c)})
}

func TestCase22_AFeedThatAcceptsEverythingAndStaysSilent(t *testing.T) {
	s := newScript()
	s.answers = false
	began := s.t
	_, err := dial(t.Context(), s, s.now)
	require.ErrorIs(t, err, ErrNoAck)
	require.ErrorContains(t, err, "no ACK within 1s: in a PID or user namespace of its own")
	require.Equal(t, time.Second, s.t.Sub(began))
	require.True(t, s.closed)
}

func TestCase24_OnlyOurOwnAckCounts(t *testing.T) {
	for name, foreign := range map[string]item{
		"another listener's":    {b: ackEvent(1, 0)},
		"another sender's":      {b: ackEvent(1, 0), from: 4711},
		"an event, but no ACK":  {b: execEvent(4711)},
		"a refusal to a second": {b: ackEvent(1, 1)},
	} {
		s := newScript()
		s.answers = false
		s.queue = []item{foreign}
		_, err := dial(t.Context(), s, s.now)
		require.ErrorIs(t, err, ErrNoAck, name)
	}
}

func TestARefusalIsNamed(t *testing.T) {
	s := newScript()
	s.errno = uint32(syscall.EPERM)
	_, err := dial(t.Context(), s, s.now)
	require.ErrorIs(t, err, syscall.EPERM)
}

func TestWhatOtherProcessesWriteIntoTheGroupIsNoEvent(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	s.queue = []item{{b: execEvent(666), from: 4711}}
	s.execs(12)
	require.Equal(t, 12, next(t, c))
}

func TestAMessageThatMakesNoSenseEndsTheFeed(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	s.queue = []item{{b: execEvent(1)[:50]}}
	_, err := c.Next()
	require.ErrorContains(t, err, "process event: says it has 76 bytes")
}

func TestAnOverflowIsReportedOnceTheQueueIsEmpty(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	s.execs(11, 12)
	s.overflow()
	require.Equal(t, []int{11, 12}, []int{next(t, c), next(t, c)})
	_, err := c.Next()
	require.Equal(t, ErrOverflow, err)

	s.execs(13)
	require.Equal(t, 13, next(t, c), "the feed goes on")
}

func TestASilentFeedIsProbed(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	began := s.t
	for len(s.sent) < 3 {
		_, err := c.receive()
		require.NoError(t, err)
	}
	require.Equal(t, []uint32{opListen, opListen, opListen}, s.sent)
	require.GreaterOrEqual(t, s.t.Sub(began), 2*silence)
}

func TestABusyFeedIsNotProbed(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	for range 100 {
		s.t = s.t.Add(silence / 2)
		s.execs(11)
		require.Equal(t, 11, next(t, c))
	}
	require.Len(t, s.sent, 1)
}

func TestCase29_AFeedThatDiesWithoutAnError(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	s.answers = false
	began := s.t
	_, err := c.Next()
	require.ErrorIs(t, err, ErrNoAck)
	require.LessOrEqual(t, s.t.Sub(began), 2*silence+2*ackTimeout)
}

func TestTheAckIsInTheQueueWhenWeWereStopped(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	require.NoError(t, c.ask())
	s.t = s.t.Add(time.Hour)
	s.queue = append([]item{{b: execEvent(11)}}, s.queue...)
	require.Equal(t, 11, next(t, c))
	_, err := c.receive()
	require.NoError(t, err)
	require.False(t, c.awaited)
}

func TestAnAckLostInAnOverflowIsAskedForAgain(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	require.NoError(t, c.ask())
	s.queue = nil // the answer was dropped
	s.overflow()
	_, err := c.Next()
	require.ErrorIs(t, err, ErrOverflow)
	s.execs(11)
	require.Equal(t, 11, next(t, c))
	require.False(t, c.awaited)
}

func TestCloseAsksTheKernelToStop(t *testing.T) {
	s := newScript()
	c := dialScript(t, s)
	require.NoError(t, c.Close())
	require.Equal(t, []uint32{opListen, opIgnore}, s.sent)
	require.True(t, s.closed)
}
