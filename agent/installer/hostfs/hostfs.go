// Package hostfs is the file system of the machine: it replaces and removes single files so that a reader, a crash or a power cut never
// meets half of one, and it says what is there. It must not know which files belong on a host, or when.
package hostfs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// FS is the file system of the machine whose root directory is at a path: "/" but for tests.
type FS struct{ root string }

// At is the host whose root directory is root.
func At(root string) FS { return FS{root: root} }

// Path is where a file of the host is.
func (h FS) Path(name string) string { return filepath.Join(h.root, name) }

// Kind is what is found at a path.
type Kind int

// What can be found.
const (
	// Nothing is there.
	Nothing Kind = iota
	// Regular is a regular file.
	Regular
	// Other is a directory, a symbolic link, a device.
	Other
)

// File is what is at a path, which is not followed if it is a link.
type File struct {
	Kind Kind
	// Hash is the content's SHA-256 in hex, of a regular file.
	Hash string
	Mode fs.FileMode
	// Written is when the content was.
	Written time.Time
}

// Look says what is at a path.
func (h FS) Look(path string) (File, error) {
	info, err := os.Lstat(h.Path(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, nil
	case err != nil:
		return File{}, fmt.Errorf("looking at %s: %w", path, err)
	case !info.Mode().IsRegular():
		return File{Kind: Other, Mode: info.Mode()}, nil
	}
	sum, err := hashOf(h.Path(path))
	if err != nil {
		return File{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return File{Kind: Regular, Hash: sum, Mode: info.Mode().Perm(), Written: info.ModTime()}, nil
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return Hash(f)
}

// Hash is the SHA-256 of what a reader gives, in hex.
func Hash(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Read is the whole of a small file; nil without an error when there is none.
func (h FS) Read(path string) ([]byte, error) {
	text, err := os.ReadFile(h.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
