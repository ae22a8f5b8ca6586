package hostfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockPoll is the time between two attempts on a lock that another holds: flock itself cannot be given a deadline.
	lockPoll = 50 * time.Millisecond
	// lockPatience is how long another may hold it: longer than any change of the host takes.
	lockPatience = time.Minute
)

// Lock waits for the lock that keeps two who change the host apart, and gives what ends it. The kernel ends it with the process. Its file is
// there only while it is held, so that it is not left behind; a process that was killed leaves an empty one.
func (h FS) Lock(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		f, err := h.tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if f != nil {
			return func() { h.unlock(f) }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s, which another installer holds: %w", path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

// tryLock gives nothing when another holds the lock, or has just removed the file that was opened.
func (h FS) tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(h.Path(path), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && sameFile(f) {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		err = nil
	}
	return nil, errors.Join(err, f.Close())
}

func (h FS) unlock(f *os.File) {
	if sameFile(f) { // else somebody took it away by hand, and what is there may be another's
		_ = os.Remove(f.Name())
	}
	_ = f.Close()
}

// sameFile says that an open file is still what its name stands for.
func sameFile(f *os.File) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(opened, named)
}
