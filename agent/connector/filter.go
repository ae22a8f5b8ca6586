package connector

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
)

// filter lets through what is needed and nothing else: on a busy host most events are forks and exits, and each would wake us up. It is the
// classic socket filter, which every kernel has; its loads are big-endian whatever the host is.
func filter() ([]bpf.RawInstruction, error) {
	return bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: whatAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: loaded(whatAck), SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: loaded(whatExec), SkipTrue: 1},
		bpf.RetConstant{Val: 1 << 16},
		bpf.RetConstant{Val: 0},
	})
}

// loaded is v, written by the kernel in the host's byte order, as the filter sees it.
func loaded(v uint32) uint32 {
	return binary.BigEndian.Uint32(binary.NativeEndian.AppendUint32(nil, v))
}
