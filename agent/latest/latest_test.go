package latest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReaderSeesTheNewestValueOnce(t *testing.T) {
	v := New[int]()
	v.Put(1)
	v.Put(2)
	require.Equal(t, 2, <-v.C())
	select {
	case x := <-v.C():
		require.Fail(t, "read twice", "%d", x)
	default:
	}
}
