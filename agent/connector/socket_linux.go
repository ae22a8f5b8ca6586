package connector

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is the wire to the kernel.
type socket struct {
	file     *os.File
	raw      syscall.RawConn
	deadline time.Time
}

// openSocket joins the multicast group of process events.
func openSocket(receiveBuffer int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, fmt.Errorf("opening the netlink socket: %w: the kernel has no connector (CONFIG_CONNECTOR)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the netlink socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), "proc connector")
	if err := prepare(fd, receiveBuffer); err != nil {
		_ = file.Close()
		return nil, err
	}
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("opening the netlink socket: %w", err)
	}
	return &socket{file: file, raw: raw}, nil
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
	if !deadline.Equal(s.deadline) {
		if err := s.file.SetReadDeadline(deadline); err != nil {
			return 0, 0, err
		}
		s.deadline = deadline
	}
	waitErr := s.raw.Read(func(fd uintptr) bool {
		n, from, err = receive(int(fd), b)
		return !errors.Is(err, unix.EAGAIN)
	})
	if errors.Is(waitErr, os.ErrDeadlineExceeded) {
		return s.receiveNow(b)
	}
	if waitErr != nil {
		return 0, 0, waitErr
	}
	return n, from, err
}

// receiveNow looks into the queue once more: past its deadline, the runtime does not.
func (s *socket) receiveNow(b []byte) (n int, from uint32, err error) {
	if rawErr := s.raw.Control(func(fd uintptr) { n, from, err = receive(int(fd), b) }); rawErr != nil {
		return 0, 0, rawErr
	}
	if errors.Is(err, unix.EAGAIN) {
		return 0, 0, os.ErrDeadlineExceeded
	}
	return n, from, err
}

func receive(fd int, b []byte) (n int, from uint32, err error) {
	n, sender, err := unix.Recvfrom(fd, b, 0)
	if netlink, ok := sender.(*unix.SockaddrNetlink); ok {
		from = netlink.Pid
	}
	return n, from, err
}

func (s *socket) Close() error { return s.file.Close() }
