package hostfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is the time between two attempts on a lock that another holds: flock itself cannot be given a deadline.
const lockPoll = 50 * time.Millisecond

// Lock waits for the lock that keeps two who change the host apart, and gives what ends it. The kernel ends it with the process.
func (h FS) Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(h.Path(path), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600) // everybody may write to /run/lock
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for %s, which another installer holds: %w", path, ctx.Err()), f.Close())
		case <-time.After(lockPoll):
		}
	}
}
