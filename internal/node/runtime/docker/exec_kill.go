package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/moby/moby/client"
)

// errForeignProcess: the engine's process numbers are not this machine's (it is remote, or in a namespace of its own).
var errForeignProcess = errors.New("its process can't be found on this machine; the command continues until it ends by itself")

// Kill implements runtime.Killer. Docker Engine has no call that ends a command, so Kill kills its process on this
// machine, with the group that it leads. A user who may use the engine could do the same. For a moment after a command
// started, the engine may not report its process yet; Kill waits for it.
func (e *execution) Kill(ctx context.Context) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		state, err := e.runtime.client.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return e.runtime.fault("inspect exec", err)
		case !state.Running && (state.PID > 0 || e.over()):
			return nil
		case state.Running && runsIn(state.PID, state.ContainerID):
			if err := killGroup(state.PID); err != nil {
				return fmt.Errorf("kill exec in container %s: %w", e.runtime.nameOf(state.ContainerID), err)
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("kill exec in container %s: %w", e.runtime.nameOf(state.ContainerID), errForeignProcess)
		}
	}
}

// over reports whether the output has ended.
func (e *execution) over() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// killGroup kills a command with what it started: it leads a session, and so a group, of its own. A command that has
// ended already is not an error.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// runsIn reports whether a process of this machine belongs to the container, by its control group: numbers are reused,
// and a process number of another machine means a different process here.
func runsIn(pid int, container string) bool {
	if pid <= 0 || container == "" {
		return false
	}
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return err == nil && bytes.Contains(groups, []byte(container))
}
