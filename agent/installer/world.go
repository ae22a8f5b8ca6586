package installer

import (
	"context"
	"io"
	"io/fs"

	"5spot.finos.org/node-reclaim/agent/installer/cluster"
	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/agent/installer/manager"
)

// Files is the file system of the host: package hostfs.
type Files interface {
	Look(path string) (hostfs.File, error)
	Read(path string) ([]byte, error)
	Replace(path string, content io.Reader, mode fs.FileMode) error
	Remove(path string) error
	Tidy(path string) error
	Lock(ctx context.Context, path string) (unlock func(), err error)
	Writable(dir string) error
	Executable(dir string) error
}

// Systemd is the host's, for the agent's unit: package manager.
type Systemd interface {
	About(ctx context.Context) (manager.About, error)
	Unit(ctx context.Context) (manager.Unit, error)
	Reload(ctx context.Context) error
	Enable(ctx context.Context) error
	Disable(ctx context.Context) error
	Start(ctx context.Context) error
	Restart(ctx context.Context) error
	Stop(ctx context.Context) error
	ResetFailed(ctx context.Context) error
}

// API is the API server: package cluster.
type API interface {
	Look(ctx context.Context) cluster.View
	Changes() <-chan struct{}
	Warn(ctx context.Context, reason, message string) error
}
