package connector

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
)

func TestFilterLetsExecsAndAcknowledgementsThrough(t *testing.T) {
	raw, err := filter()
	require.NoError(t, err)
	program, whole := bpf.Disassemble(raw)
	require.True(t, whole)
	vm, err := bpf.NewVM(program)
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		in   []byte
		pass bool
	}{
		"exec":            {execEvent(4711), true},
		"acknowledgement": {ackEvent(7, 0), true},
		"fork":            {changed(whatAt, 1, 0, 0, 0), false},
		"rename":          {changed(whatAt, 0, 2, 0, 0), false},
		"exit":            {changed(whatAt, 0, 0, 0, 0x80), false},
		"cut off":         {execEvent(4711)[:whatAt], false},
	} {
		n, err := vm.Run(tt.in)
		require.NoError(t, err)
		require.Equal(t, tt.pass, n > 0, name)
	}
}
