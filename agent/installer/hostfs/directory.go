package hostfs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// What can be wrong with a directory.
var (
	// ErrMissing: it is not there.
	ErrMissing = errors.New("does not exist")
	// ErrReadOnly: nothing can be written there.
	ErrReadOnly = errors.New("is not writable")
	// ErrNoExec: a program that is put there cannot be started.
	ErrNoExec = errors.New("is mounted noexec")
)

// Writable says whether files can be put into a directory. Nothing is tried out.
func (h FS) Writable(dir string) error {
	switch err := unix.Access(h.Path(dir), unix.W_OK|unix.X_OK); {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%s %w", dir, ErrMissing)
	case err != nil:
		return fmt.Errorf("%s %w (%w)", dir, ErrReadOnly, err)
	}
	return nil
}

// Executable says whether programs in a directory can be started.
func (h FS) Executable(dir string) error {
	var file unix.Statfs_t
	if err := unix.Statfs(h.Path(dir), &file); err != nil {
		return fmt.Errorf("asking for the file system of %s: %w", dir, err)
	}
	if file.Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("%s %w", dir, ErrNoExec)
	}
	return nil
}
