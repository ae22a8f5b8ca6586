package connector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"
)

const (
	// ReceiveBuffer is what Dial should be given: room for about 20,000 events.
	ReceiveBuffer = 8 << 20
	// ackTimeout is far beyond what the kernel needs, which answers before the request returns.
	ackTimeout = time.Second
	// silence is how long nothing may come before the feed is asked for a sign of life. Some kernels (6.6.13 to 17, 6.7.1 to 5) can go
	// silent for good.
	silence = 10 * time.Second
)

// What Next says when a feed has gaps or has ended.
var (
	// ErrOverflow: execs came faster than they were read, and some are lost. All that were kept have been given out by now, the feed goes
	// on, and only a sweep can tell what was missed.
	ErrOverflow = errors.New("process events were lost: the receive buffer overflowed")
	// ErrNoAck: our request was not acknowledged, so that neither events nor their absence mean anything.
	ErrNoAck = fmt.Errorf("no ACK within %s", ackTimeout)
)

// wire carries datagrams to and from the kernel.
type wire interface {
	Send(b []byte) error
	// Receive waits until deadline; after it, it takes what is there already. from is the sender's port, 0 for the kernel.
	Receive(b []byte, deadline time.Time) (n int, from uint32, err error)
	// Nap lets time pass, whatever comes.
	Nap(d time.Duration)
	// Close ends a Receive that waits.
	Close() error
}

// Conn is a feed of execs. Next is for one goroutine at a time; Close may be called from another.
type Conn struct {
	wire wire
	now  func() time.Time
	buf  []byte

	// number is that of the last request, awaited while its acknowledgement has not come.
	number  uint32
	awaited bool
	// deadline is when silence becomes remarkable; heard says that there was none since it was set.
	deadline time.Time
	heard    bool
	// draining: events were lost, and the kernel drops all new ones until the queue is empty.
	draining bool
	pace     pace
}

// Dial opens a feed with a receive buffer of that many bytes. Its error names what is in the way in words for an operator.
func Dial(ctx context.Context, receiveBuffer int) (*Conn, error) {
	w, err := openSocket(receiveBuffer)
	if err != nil {
		return nil, err
	}
	return dial(ctx, w, time.Now)
}

func dial(ctx context.Context, w wire, now func() time.Time) (*Conn, error) {
	c := &Conn{wire: w, now: now, buf: make([]byte, os.Getpagesize())}
	stop := context.AfterFunc(ctx, func() { _ = w.Close() })
	err := c.handshake()
	if !stop() {
		return nil, ctx.Err()
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// handshake asks the kernel to begin. Events that come before its answer are not looked at.
func (c *Conn) handshake() error {
	err := c.ask()
	for err == nil && c.awaited {
		_, err = c.receive()
	}
	if errors.Is(err, ErrNoAck) {
		return fmt.Errorf("%w: in a PID or user namespace of its own, or the kernel makes no process events (CONFIG_PROC_EVENTS)", err)
	}
	return err
}

// Next waits for an exec and gives the process's id. After ErrOverflow it can be called again, after any other error not.
func (c *Conn) Next() (int, error) {
	for {
		if tgid, err := c.receive(); tgid != 0 || err != nil {
			return tgid, err
		}
	}
}

// Close asks the kernel to make no more events for us, and ends a Next that waits.
func (c *Conn) Close() error {
	_ = c.wire.Send(request(opIgnore, 0))
	return c.wire.Close()
}

// receive takes one message or one silence. Neither need be of interest: then it gives 0.
func (c *Conn) receive() (int, error) {
	n, from, err := c.wire.Receive(c.buf, c.patience())
	switch {
	case errors.Is(err, syscall.ENOBUFS):
		c.draining = true
		return 0, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, c.quiet()
	case err != nil:
		return 0, fmt.Errorf("receiving process events: %w", err)
	case from != 0: // any process with CAP_NET_ADMIN can write into the group
		return 0, nil
	}
	e, err := decode(c.buf[:n])
	if err != nil {
		return 0, err
	}
	return c.take(e)
}

// patience is how long to wait: not at all where the end of the queue is to be noticed.
func (c *Conn) patience() time.Time {
	if c.draining || c.gathers() {
		return time.Unix(1, 0)
	}
	return c.deadline
}

// gathers says that an empty queue is left alone for a moment. Not while an answer is due: however much comes, its absence must be noticed.
func (c *Conn) gathers() bool { return c.pace.dense && !c.awaited }

func (c *Conn) take(e event) (int, error) {
	switch {
	case e.what == whatExec:
		c.heard = true
		c.pace.exec(c.now())
		return e.tgid, nil
	case e.what == whatAck && c.awaited && e.ack == c.number+1: // others' acknowledgements come here, too
		c.awaited = false
		c.heard = true
		if e.errno != 0 {
			return 0, fmt.Errorf("the kernel refused to send process events: %w", syscall.Errno(e.errno))
		}
	}
	return 0, nil
}

// quiet is called when the queue is empty and patience is at its end. It never judges by the clock alone: whoever was stopped for a
// while finds the deadline long gone and the answer in the queue.
func (c *Conn) quiet() error {
	switch {
	case c.draining:
		c.draining = false
		if c.awaited { // the answer may be among what was lost
			return errors.Join(ErrOverflow, c.ask())
		}
		return ErrOverflow
	case c.gathers():
		c.wire.Nap(gather)
		c.pace.turn(c.now())
		return nil
	case c.awaited:
		return ErrNoAck
	case c.heard:
		c.heard = false
		c.deadline = c.now().Add(silence)
		return nil
	}
	return c.ask()
}

// ask sends a request to listen, be it the first or a liveness probe.
func (c *Conn) ask() error {
	// The number tells our acknowledgement from others'; it is no secret.
	c.number, c.awaited = rand.Uint32(), true
	c.deadline = c.now().Add(ackTimeout)
	err := c.wire.Send(request(opListen, c.number))
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("asking for process events: %w: in a network namespace of its own", err)
	}
	if err != nil {
		return fmt.Errorf("asking for process events: %w", err)
	}
	return nil
}
