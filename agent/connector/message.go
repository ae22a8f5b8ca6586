package connector

import (
	"encoding/binary"
	"fmt"
)

// Layout of a datagram, in bytes: struct nlmsghdr, struct cn_msg, and in an event struct proc_event, whose union begins after what, cpu
// and a timestamp. All of it in the host's byte order.
const (
	netlinkBytes = 16
	cnBytes      = 20
	headerBytes  = netlinkBytes + cnBytes
	eventBytes   = 16

	cnAt    = netlinkBytes
	whatAt  = headerBytes
	unionAt = headerBytes + eventBytes

	requestBytes = headerBytes + 4
)

// Constants of linux/connector.h, linux/cn_proc.h and linux/netlink.h.
const (
	idxProc = 1 // CN_IDX_PROC, and the multicast group
	valProc = 1 // CN_VAL_PROC

	opListen = 1 // PROC_CN_MCAST_LISTEN
	opIgnore = 2 // PROC_CN_MCAST_IGNORE

	whatAck  = 0 // PROC_EVENT_NONE
	whatExec = 2 // PROC_EVENT_EXEC

	typeDone = 3 // NLMSG_DONE
)

// maxPID is PID_MAX_LIMIT on 64 bits. What is above cannot be a process.
const maxPID = 1 << 22

// event is one message of the kernel's.
type event struct {
	what uint32
	// tgid is the process that called exec, in an event of that kind.
	tgid int
	// ack and errno answer a request: its own number plus one, and what came of it.
	ack, errno uint32
}

// decode reads one datagram; the connector puts one message into each. Of events other than exec and ack it gives no more than the kind.
func decode(b []byte) (event, error) {
	data, ack, err := payload(b)
	if err != nil {
		return event{}, err
	}
	e := event{what: binary.NativeEndian.Uint32(data), ack: ack}
	switch e.what {
	case whatAck:
		e.errno, err = union(data, 0)
	case whatExec:
		var tgid uint32
		tgid, err = union(data, 4)
		e.tgid = int(tgid)
		if err == nil && (tgid == 0 || tgid > maxPID) {
			err = fmt.Errorf("process event: %d is no process id", tgid)
		}
	}
	return e, err
}

// payload checks both headers and gives what they announce, with the ack number of the second.
func payload(b []byte) (data []byte, ack uint32, err error) {
	ne := binary.NativeEndian
	if len(b) < headerBytes {
		return nil, 0, fmt.Errorf("process event: %d bytes, the headers alone have %d", len(b), headerBytes)
	}
	if n := ne.Uint32(b); n < headerBytes || uint64(n) > uint64(len(b)) {
		return nil, 0, fmt.Errorf("process event: says it has %d bytes, came in a datagram of %d", n, len(b))
	}
	if t := ne.Uint16(b[4:]); t != typeDone {
		return nil, 0, fmt.Errorf("process event: netlink type %d, want %d", t, typeDone)
	}
	if idx, val := ne.Uint32(b[cnAt:]), ne.Uint32(b[cnAt+4:]); idx != idxProc || val != valProc {
		return nil, 0, fmt.Errorf("connector message %d.%d is no process event", idx, val)
	}
	n := int(ne.Uint16(b[cnAt+16:]))
	if n < eventBytes || n > int(ne.Uint32(b))-headerBytes {
		return nil, 0, fmt.Errorf("process event: %d bytes announced in a message of %d", n, ne.Uint32(b))
	}
	return b[headerBytes : headerBytes+n], ne.Uint32(b[cnAt+12:]), nil
}

// union reads a number of an event's union.
func union(data []byte, at int) (uint32, error) {
	if len(data) < eventBytes+at+4 {
		return 0, fmt.Errorf("process event: %d bytes, cut off before byte %d", len(data), eventBytes+at)
	}
	return binary.NativeEndian.Uint32(data[eventBytes+at:]), nil
}

// request is what asks the kernel to begin or to end. number comes back, plus one, in the acknowledgement.
//
// The operation has four bytes. Since Linux 6.6 there is a longer form that names the events wanted, but then the kernel filters its own
// acknowledgement away, and older ones ignore the form without a word.
func request(op, number uint32) []byte {
	ne := binary.NativeEndian
	b := make([]byte, requestBytes)
	ne.PutUint32(b, requestBytes)
	ne.PutUint16(b[4:], typeDone)
	ne.PutUint32(b[cnAt:], idxProc)
	ne.PutUint32(b[cnAt+4:], valProc)
	ne.PutUint32(b[cnAt+12:], number)
	ne.PutUint16(b[cnAt+16:], 4)
	ne.PutUint32(b[headerBytes:], op)
	return b
}
