// Package logbuffer keeps what a process or a logger writes, for a test that reads it meanwhile.
package logbuffer

import (
	"bytes"
	"sync"
)

// Buffer may be written and read at once. The zero Buffer is empty.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is all that has been written so far.
func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
