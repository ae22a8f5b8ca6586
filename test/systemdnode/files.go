package systemdnode

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stretchr/testify/require"
)

// packageDir is where start.sh is.
func packageDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// Files says of everything below these directories of the node what it is: mode, and hash, link target, or nothing for a directory.
func (n *Node) Files(dirs ...string) map[string]string {
	n.t.Helper()
	found := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(n.Path(dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(n.Root(), path)
			if err != nil {
				return err
			}
			found["/"+name], err = describe(path, entry)
			return err
		})
		require.NoError(n.t, err)
	}
	return found
}

func describe(path string, entry fs.DirEntry) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		return fmt.Sprintf("%s %x", info.Mode(), sha256.Sum256(content)), err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return "-> " + target, err
	}
	return info.Mode().String(), nil
}
