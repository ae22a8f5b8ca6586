// Package latest hands a value from one goroutine to another where only the newest one matters: a reader that was busy sees the
// last state of the world, not every step on the way there, and the writer is never held up. It must not know what it carries.
package latest

// Value holds at most one unread value. One goroutine puts, any number read.
type Value[T any] struct{ slot chan T }

// New makes an empty Value.
func New[T any]() Value[T] { return Value[T]{slot: make(chan T, 1)} }

// Put replaces an unread value. It never blocks; with several writers it could, so there is one.
func (v Value[T]) Put(x T) {
	select {
	case <-v.slot:
	default:
	}
	v.slot <- x
}

// C delivers the newest unread value.
func (v Value[T]) C() <-chan T { return v.slot }
