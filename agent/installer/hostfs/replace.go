package hostfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// newSuffix ends the name under which a file is written before it takes its place. One name per file, so that whoever comes after a
// crash finds it; a dot in front hides it from systemd.
const newSuffix = ".5spot-new"

// NewPath is where the next content of a file is written first.
func NewPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+newSuffix)
}

// Replace puts a new file in the place of what is there. A running program keeps the old one. The content is on disk before the name
// is, and the name before Replace returns.
func (h FS) Replace(path string, content io.Reader, mode fs.FileMode) error {
	next := h.Path(NewPath(path))
	if err := write(next, content, mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, remove(next)))
	}
	if err := os.Rename(next, h.Path(path)); err != nil {
		return fmt.Errorf("replacing %s: %w", path, errors.Join(err, remove(next)))
	}
	return syncDirectory(h.Path(path))
}

func write(path string, content io.Reader, mode fs.FileMode) error {
	if err := remove(path); err != nil { // of a run that was killed, with whatever mode it has
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()) // the umask has no say in the mode
}

// Remove takes a file away, and what a killed run has left of its next content. It need not be there.
func (h FS) Remove(path string) error {
	if err := errors.Join(remove(h.Path(NewPath(path))), remove(h.Path(path))); err != nil {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return syncDirectory(h.Path(path))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Tidy takes away what a killed run has left of a file's next content. The file itself stays.
func (h FS) Tidy(path string) error { return remove(h.Path(NewPath(path))) }

// syncDirectory makes a change of a name in a file's directory last.
func syncDirectory(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing could have been removed from it
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
