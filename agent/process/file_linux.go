package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrGone says that a process ended before it was read. That is normal.
var ErrGone = errors.New("no such process")

const (
	// firstBytes is enough for the arguments of nearly every process.
	firstBytes = 4096
	// maxFileBytes bounds what is read of one file. The kernel lets arguments take 6 MiB; only a program that moves its own argument
	// area can show more.
	maxFileBytes = 8 << 20
	// keepBytes is the largest buffer that is kept for the next read.
	keepBytes = 256 << 10
)

// directory is an open /proc/PID. All reads through it are of one process: once that has ended they fail, even when its number has been
// given to another.
type directory struct {
	fd   int
	path string
}

func openDirectory(at int, path string, pid int) (directory, error) {
	name := strconv.Itoa(pid)
	fd, err := openAt(at, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return directory{}, failed(err, path, name)
	}
	return directory{fd: fd, path: path + "/" + name}, nil
}

func (d directory) close() { _ = unix.Close(d.fd) }

func (d directory) read(name string) ([]byte, error) { return readAt(d.fd, d.path, name, nil) }

// link gives what a symbolic link points to, or nothing.
func (d directory) link(name string) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// readAt reads the file name in the directory at, into buf when there is room. path is the directory's, for errors.
func readAt(at int, path, name string, buf []byte) ([]byte, error) {
	fd, err := openAt(at, name, unix.O_RDONLY)
	if err != nil {
		return nil, failed(err, path, name)
	}
	defer unix.Close(fd)
	buf, err = readFile(fd, buf)
	if err != nil {
		return nil, failed(err, path, name)
	}
	return buf, nil
}

// readFile reads until a read does not fill its buffer: the files of /proc that are read here come whole when there is room.
func readFile(fd int, buf []byte) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < maxFileBytes {
		buf = slices.Grow(buf, firstBytes)
		room := buf[len(buf):cap(buf)]
		n, err := retry(func() (int, error) { return unix.Read(fd, room) })
		if err != nil {
			return nil, err
		}
		buf = buf[:len(buf)+n]
		if n < len(room) {
			break
		}
	}
	return buf, nil
}

func openAt(at int, path string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Openat(at, path, flags|unix.O_CLOEXEC, 0) })
}

// retry goes on after a signal, which the Go runtime sends itself now and then.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// failed wraps an error with what was read. A file or process that is no longer there is ErrGone.
func failed(err error, path, name string) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return fmt.Errorf("reading %s/%s: %w", path, name, err)
}

// listPIDs lists the processes of the /proc that dir is.
func listPIDs(dir int) ([]int, error) {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "")
	defer file.Close()
	names, err := file.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	list := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			list = append(list, pid)
		}
	}
	return list, nil
}

func lines(file []byte) []string {
	return strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
}
