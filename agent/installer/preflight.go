package installer

import (
	"context"
	"errors"
	"path"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/agent/installer/manager"
)

// minSystemd is the oldest version that the unit is meant for. 247 runs it without ExecPaths=, which it does not know yet.
const minSystemd = 247

// preflight says why this host cannot have the agent. Nothing is touched.
func (i *Installer) preflight(ctx context.Context) error {
	if err := i.suitsSystemd(ctx); err != nil {
		return err
	}
	for _, file := range append(installed(), RecordPath) {
		if err := unsuitable(i.opts.Files.Writable(path.Dir(file))); err != nil {
			return err
		}
	}
	return unsuitable(i.opts.Files.Executable(path.Dir(ProgramPath)))
}

func (i *Installer) suitsSystemd(ctx context.Context) error {
	about, err := i.opts.Systemd.About(ctx)
	switch {
	case errors.Is(err, manager.ErrNotBooted):
		return refuse(ReasonHostUnsuitable, "%v: boot this host with systemd %d or later, or %s", err, minSystemd, optOut)
	case err != nil:
		return refuse(ReasonHostUnsuitable, "systemd does not answer on this host (%v): see `systemctl status` there; it is tried again", err)
	case about.Version < minSystemd:
		return refuse(ReasonHostUnsuitable, "systemd %d is too old: upgrade this host to %d or later, or %s", about.Version, minSystemd, optOut)
	case goArchitecture(about.Architecture) != i.opts.Architecture:
		return refuse(ReasonHostUnsuitable, "the image is built for %s and this host is %s: use an image for the host's architecture",
			i.opts.Architecture, about.Architecture)
	}
	return nil
}

// goArchitecture is systemd's name of an architecture in Go's words. Where they agree, nothing is to be done.
func goArchitecture(systemd string) string {
	if systemd == "x86-64" {
		return "amd64"
	}
	return systemd
}

// unsuitable adds the remedy to what is wrong with a directory. A pod does not see what is mounted after its start.
func unsuitable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, hostfs.ErrMissing):
		return refuse(ReasonHostUnsuitable, "%v: make it on this host and delete this pod, or %s", err, optOut)
	case errors.Is(err, hostfs.ErrReadOnly):
		return refuse(ReasonHostUnsuitable, "%v: mount its file system read-write on this host and delete this pod, or %s", err, optOut)
	case errors.Is(err, hostfs.ErrNoExec):
		return refuse(ReasonHostUnsuitable, "%v: remount it with exec on this host and delete this pod, or %s", err, optOut)
	}
	return err
}
