package docker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/node/runtime"
)

// WatchProcesses implements runtime.Runtime. It works if the engine runs on this machine and its processes are visible.
func (r *Runtime) WatchProcesses(ctx context.Context, running []runtime.Container, ended func(runtime.Container)) {
	defer func() { <-ctx.Done() }()
	if url, err := client.ParseHostURL(r.client.DaemonHost()); err != nil || url.Scheme != "unix" {
		return
	}
	watched := watchProcesses(running, ended)
	defer watched.close()
	if err := watched.wait(ctx, ended); err != nil {
		r.log.Warn("the containers' processes can't be watched while the engine is away", "error", err)
	}
}

// processes holds the first processes of containers, and the file descriptors that report their end.
type processes struct {
	containers []runtime.Container
	fds        []unix.PollFd
}

// watchProcesses finds the processes. A missing process, while others of the engine are visible, has ended.
func watchProcesses(running []runtime.Container, ended func(runtime.Container)) *processes {
	var p processes
	var gone []runtime.Container
	for _, c := range running {
		if c.State != runtime.StateRunning || c.PID <= 0 {
			continue
		}
		// The order matters: the descriptor stays with the process, and then the process is checked to be the
		// container's.
		fd, err := unix.PidfdOpen(c.PID, 0)
		if err == nil && !runsIn(c.PID, c.ID) {
			_ = unix.Close(fd)
			err = unix.ESRCH
		}
		switch {
		case err == nil:
			p.containers = append(p.containers, c)
			p.fds = append(p.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		case errors.Is(err, unix.ESRCH):
			gone = append(gone, c)
		}
	}
	if len(p.fds) > 0 { // otherwise the engine may number processes in another namespace
		for _, c := range gone {
			ended(c)
		}
	}
	return &p
}

// wait calls ended as processes end, until ctx does.
func (p *processes) wait(ctx context.Context, ended func(runtime.Container)) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer context.AfterFunc(ctx, func() { _ = write.Close() })()
	fds := append([]unix.PollFd{{Fd: int32(read.Fd()), Events: unix.POLLIN}}, p.fds...)
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("poll: %w", err)
		}
		if fds[0].Revents != 0 {
			return nil
		}
		for i := range fds[1:] {
			if fd := &fds[i+1]; fd.Revents != 0 {
				fd.Fd = -1 // poll ignores it from here on
				ended(p.containers[i])
			}
		}
	}
}

func (p *processes) close() {
	for _, fd := range p.fds {
		_ = unix.Close(int(fd.Fd))
	}
}
