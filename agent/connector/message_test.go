package connector

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// execEvent is a datagram of the length that Linux 6.18 sends: process tgid has called exec.
func execEvent(tgid uint32) []byte {
	ne := binary.NativeEndian
	b := make([]byte, 76)
	ne.PutUint32(b, 76)
	ne.PutUint16(b[4:], typeDone)
	ne.PutUint32(b[cnAt:], idxProc)
	ne.PutUint32(b[cnAt+4:], valProc)
	ne.PutUint16(b[cnAt+16:], 40)
	ne.PutUint32(b[whatAt:], whatExec)
	ne.PutUint32(b[unionAt:], tgid)
	ne.PutUint32(b[unionAt+4:], tgid)
	return b
}

// ackEvent answers a request of that number.
func ackEvent(number, errno uint32) []byte {
	ne := binary.NativeEndian
	b := execEvent(0)
	ne.PutUint32(b[cnAt+12:], number+1)
	ne.PutUint32(b[whatAt:], whatAck)
	ne.PutUint32(b[unionAt:], errno)
	return b
}

// changed is an exec event with one field overwritten.
func changed(at int, value ...byte) []byte {
	b := execEvent(4711)
	copy(b[at:], value)
	return b
}

func TestCase25_AnEventOfTypeDoneIsAnEvent(t *testing.T) {
	b := execEvent(4711)
	require.EqualValues(t, 3, binary.NativeEndian.Uint16(b[4:]), "NLMSG_DONE")
	e, err := decode(b)
	require.NoError(t, err)
	require.Equal(t, event{what: whatExec, tgid: 4711}, e)
}

func TestDecode(t *testing.T) {
	exec := event{what: whatExec, tgid: 4711}
	for name, tt := range map[string]struct {
		in   []byte
		want event
	}{
		"acknowledgement":                {ackEvent(7, 0), event{ack: 8}},
		"refusal":                        {ackEvent(7, 1), event{ack: 8, errno: 1}},
		"fork, of no interest":           {changed(whatAt, 1, 0, 0, 0), event{what: 1}},
		"a kind that is yet to come":     {changed(whatAt, 0, 0, 0, 0x40), event{what: 0x40000000}},
		"no longer than its union needs": {changed(cnAt+16, 24, 0)[:unionAt+24], exec},
		"more bytes than it announces":   {append(execEvent(4711), 1, 2, 3), exec},
		"not aligned":                    {append([]byte{0xff}, execEvent(4711)...)[1:], exec},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode(tt.in)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		in   []byte
		want string
	}{
		"nothing":                        {nil, "0 bytes, the headers alone have 36"},
		"half a header":                  {execEvent(1)[:20], "20 bytes"},
		"cut off":                        {execEvent(1)[:60], "says it has 76 bytes, came in a datagram of 60"},
		"a length shorter than a header": {changed(0, 8, 0, 0, 0), "says it has 8 bytes"},
		"a length near 4 GiB":            {changed(0, 0xfc, 0xff, 0xff, 0xff), "says it has 4294967292 bytes"},
		"an inner length too long":       {changed(cnAt+16, 41, 0), "41 bytes announced in a message of 76"},
		"an inner length of 64 KiB":      {changed(cnAt+16, 0xff, 0xff), "65535 bytes announced"},
		"an inner length of nothing":     {changed(cnAt+16, 0, 0), "0 bytes announced"},
		"an exec without its process":    {changed(cnAt+16, 20, 0), "cut off before byte 20"},
		"an error of netlink":            {changed(4, 2, 0), "netlink type 2"},
		"another user of the connector":  {changed(cnAt, 9, 0, 0, 0), "connector message 9.1"},
		"process 0":                      {execEvent(0), "0 is no process id"},
		"a process beyond the limit":     {execEvent(1<<22 + 1), "4194305 is no process id"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(tt.in)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestCase24_TheRequestByteForByte(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the golden bytes are little-endian")
	}
	require.Equal(t, "28000000"+"0300"+"0000"+"00000000"+"00000000"+ // nlmsghdr
		"01000000"+"01000000"+"00000000"+"efbeadde"+"0400"+"0000"+ // cn_msg
		"01000000", // PROC_CN_MCAST_LISTEN
		hex.EncodeToString(request(opListen, 0xdeadbeef)))
	require.Equal(t, "02000000", hex.EncodeToString(request(opIgnore, 0)[headerBytes:]))
}

func FuzzDecode(f *testing.F) {
	f.Add(execEvent(4711))
	f.Add(ackEvent(7, 1))
	f.Add(changed(cnAt+16, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decode(b)
		if err == nil && e.what == whatExec {
			require.Positive(t, e.tgid)
			require.LessOrEqual(t, e.tgid, maxPID)
		}
	})
}
