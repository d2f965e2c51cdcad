package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Process is a program to run to its end.
type Process struct {
	Argv  []string
	Dir   string
	Env   []string
	Stdin []byte
	// Mark is a unique entry of Env, by which processes that left the process group are found. Default: they are not.
	Mark string
	// Limit bounds the run time, Stdout and Stderr the size of the output.
	Limit          time.Duration
	Stdout, Stderr int64
	// Memory bounds the memory of each of its processes, on Linux. Default: no bound.
	Memory int64
}

// Output holds what a program wrote and how it ended.
type Output struct {
	Stdout, Stderr []byte
	// Code is its exit code, or 128 and the signal that ended it.
	Code int
}

// The ways in which Tend ends a program.
var (
	ErrLate  = errors.New("it did not end in time")
	ErrFlood = errors.New("it wrote too much")
)

// lingering is the time for which a child that outlives its program may hold the pipes.
const lingering = 2 * time.Second

// Run runs a program in a process group of its own. If it ends early for any reason, Run ends the whole group and the
// processes that left it: nothing that the program started keeps running.
func (p Process) Run(parent context.Context) (Output, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	timer := time.AfterFunc(p.Limit, func() { cancel(ErrLate) })
	defer timer.Stop()
	stdout, stderr := &bounded{left: p.Stdout, full: cancel}, &bounded{left: p.Stderr, full: cancel}
	command := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	command.Dir, command.Env, command.Stdin = p.Dir, p.Env, bytes.NewReader(p.Stdin)
	command.Stdout, command.Stderr = stdout, stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return p.kill(command.Process.Pid) }
	command.WaitDelay = lingering
	err := command.Start()
	if err == nil {
		if failed := limitMemory(command.Process.Pid, p.Memory); failed != nil {
			cancel(fmt.Errorf("limit the memory of %s: %w", p.Argv[0], failed))
		}
		err = command.Wait()
	}
	out := Output{Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes()}
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = p.kill(command.Process.Pid) // a child that outlived the program holds the pipes
		err = nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return out, cause
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return out, err
	}
	out.Code = exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		out.Code = 128 + int(status.Signal())
		out.Stderr = append(out.Stderr, "\nended by the signal: "+status.Signal().String()...)
	}
	return out, nil
}

// kill ends the process group of a program, and the processes that it started in other groups.
func (p Process) kill(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if p.Mark != "" {
		KillMarked(p.Mark)
	}
	return err
}

// bounded stores output up to a bound; beyond it the program is ended. The buffer is not embedded, because its ReadFrom
// would bypass the bound.
type bounded struct {
	kept bytes.Buffer
	left int64
	full context.CancelCauseFunc
}

func (b *bounded) Write(piece []byte) (int, error) {
	if int64(len(piece)) > b.left {
		b.full(ErrFlood)
		return 0, ErrFlood
	}
	b.left -= int64(len(piece))
	return b.kept.Write(piece)
}
