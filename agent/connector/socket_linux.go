package connector

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is the wire to the kernel. It waits by itself: the runtime's poller would be woken by each message, wanted or not.
type socket struct {
	// file is the socket, and wake what ends a wait for it. Both count who uses them, so that none is closed in use.
	file, wake *os.File
	raw, woken syscall.RawConn
}

// openSocket joins the multicast group of process events.
func openSocket(receiveBuffer int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_CONNECTOR)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, fmt.Errorf("opening the netlink socket: %w: the kernel has no connector (CONFIG_CONNECTOR)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the netlink socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), "proc connector")
	if err := prepare(fd, receiveBuffer); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening an eventfd: %w", err), file.Close())
	}
	s := &socket{file: file, wake: os.NewFile(uintptr(fd), "end of the proc connector")}
	raw, rawErr := s.file.SyscallConn()
	woken, wokenErr := s.wake.SyscallConn()
	if err := errors.Join(rawErr, wokenErr); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the netlink socket: %w", err), s.Close())
	}
	s.raw, s.woken = raw, woken
	return s, nil
}

// prepare sets the socket up, and joins the group last, so that nothing unfiltered gets into the queue.
func prepare(fd, receiveBuffer int) error {
	// Beyond net.core.rmem_max this takes CAP_NET_ADMIN. A smaller buffer overflows sooner, which is noticed and made good by sweeping.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer); err != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	}
	if err := attachFilter(fd); err != nil {
		return err
	}
	err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: idxProc})
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("joining the process events group: %w: this kernel wants CAP_NET_ADMIN", err)
	}
	if err != nil {
		return fmt.Errorf("joining the process events group: %w", err)
	}
	return nil
}

func attachFilter(fd int) error {
	program, err := filter()
	if err != nil {
		return fmt.Errorf("assembling the socket filter: %w", err)
	}
	var instructions []unix.SockFilter
	for _, i := range program {
		instructions = append(instructions, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	fprog := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &fprog); err != nil {
		return fmt.Errorf("attaching the socket filter: %w", err)
	}
	return nil
}

func (s *socket) Send(b []byte) error {
	var err error
	if rawErr := s.raw.Control(func(fd uintptr) {
		err = unix.Sendto(int(fd), b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}); rawErr != nil {
		return rawErr
	}
	return err
}

func (s *socket) Receive(b []byte, deadline time.Time) (n int, from uint32, err error) {
	closed := s.use(func(fd, wake int32) {
		for {
			if n, from, err = receive(int(fd), b); !errors.Is(err, unix.EAGAIN) {
				return
			}
			if err = await(fd, wake, time.Until(deadline)); err != nil {
				return
			}
		}
	})
	if closed != nil {
		return 0, 0, closed
	}
	return n, from, err
}

// use keeps both files open for as long as f runs.
func (s *socket) use(f func(fd, wake int32)) error {
	var closed error
	return errors.Join(s.raw.Control(func(fd uintptr) {
		closed = s.woken.Control(func(wake uintptr) { f(int32(fd), int32(wake)) })
	}), closed)
}

// await waits for something to receive.
func await(fd, wake int32, d time.Duration) error {
	if d <= 0 {
		return os.ErrDeadlineExceeded
	}
	files := []unix.PollFd{{Fd: fd, Events: unix.POLLIN}, {Fd: wake, Events: unix.POLLIN}}
	// Rounded up: a poll of 0 ms returns at once.
	if _, err := unix.Poll(files, int((d+time.Millisecond-1)/time.Millisecond)); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	if files[1].Revents != 0 {
		return os.ErrClosed
	}
	return nil
}

// Nap keeps its thread, and so costs one wake-up. time.Sleep would give it back to the runtime, which costs three.
func (s *socket) Nap(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil)
}

func receive(fd int, b []byte) (n int, from uint32, err error) {
	n, sender, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
	if netlink, ok := sender.(*unix.SockaddrNetlink); ok {
		from = netlink.Pid
	}
	return n, from, err
}

// Close ends a Receive that waits, and the files once it has returned.
func (s *socket) Close() error {
	_, _ = s.wake.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it has been closed before
	return errors.Join(s.file.Close(), s.wake.Close())
}
