package docker

import (
	"context"
	"syscall"
	"time"

	"github.com/moby/moby/client"

	"tend.dev/tend/internal/platform/procsession"
)

// hangUpTime is the time a command has to end once its user has gone. Then it is killed.
const hangUpTime = 10 * time.Second

// lookAgain is the time between two looks at the processes that are left: each reads all of the machine's.
const lookAgain = 500 * time.Millisecond

// findTime is the time for which the process of a command is looked for on this machine.
const findTime = 5 * time.Second

// hangUp ends a command whose user has gone, as the end of a terminal does: SIGHUP and SIGTERM, and SIGKILL for what is
// left of its session. Docker Engine has no call for that. What a command that ended left behind it runs on, and what
// has a session of its own (setsid).
func (e *execution) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*hangUpTime)
	defer cancel()
	session, container, found := e.session(ctx)
	if !found {
		return
	}
	belongs := func(pid int) bool { return runsIn(pid, container) }
	for _, signal := range procsession.Hangup() {
		session.Signal(signal, belongs)
	}
	kill := time.NewTimer(hangUpTime)
	defer kill.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	signal := syscall.Signal(0)
	for session.Signal(signal, belongs) > 0 {
		select {
		case <-again.C:
		case <-kill.C:
			signal = syscall.SIGKILL
		case <-e.runtime.closing:
			session.Signal(syscall.SIGKILL, belongs) // nothing comes after it
			return
		case <-ctx.Done():
			e.runtime.log.Warn("a command could not be ended", "container", short(container))
			return
		}
	}
}

// session returns the session of the command on this machine, and its container. For a moment after a command started,
// the engine may not report its process yet.
func (e *execution) session(ctx context.Context) (session procsession.Session, container string, found bool) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		state, err := e.runtime.client.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
		if err != nil || !state.Running && state.PID > 0 {
			return session, "", false // it has ended, or ends with its container
		}
		if state.Running && runsIn(state.PID, state.ContainerID) {
			session, found = procsession.Of(state.PID)
			return session, state.ContainerID, found
		}
		select {
		case <-again.C:
		case <-e.runtime.closing:
			return session, "", false
		case <-ctx.Done():
			e.runtime.log.Warn("a command goes on, though its user has gone", "container", short(state.ContainerID),
				"error", errForeignProcess)
			return session, "", false
		}
	}
}
