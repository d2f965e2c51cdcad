package plugin

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// process is a program to run to its end.
type process struct {
	argv  []string
	dir   string
	env   []string
	stdin []byte
	// mark is a unique entry of env, by which processes that left the process group are found. Default: they are not.
	mark string
	// limit bounds its time, stdout and stderr what it may write.
	limit          time.Duration
	stdout, stderr int64
}

// output is what a program wrote and how it ended.
type output struct {
	stdout, stderr []byte
	// code is its exit code, or 128 and the signal that ended it.
	code int
}

// The ways in which Tend ends a program.
var (
	errLate  = errors.New("it did not end in time")
	errFlood = errors.New("it wrote too much")
)

// lingering is how long a child that outlives its program may hold the pipes.
const lingering = 2 * time.Second

// run runs a program in a process group of its own. Whatever ends it early ends the whole group and the processes that
// left it: nothing that it started keeps running.
func (p process) run(parent context.Context) (output, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	timer := time.AfterFunc(p.limit, func() { cancel(errLate) })
	defer timer.Stop()
	stdout, stderr := &bounded{left: p.stdout, full: cancel}, &bounded{left: p.stderr, full: cancel}
	command := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	command.Dir, command.Env, command.Stdin = p.dir, p.env, bytes.NewReader(p.stdin)
	command.Stdout, command.Stderr = stdout, stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return p.kill(command.Process.Pid) }
	command.WaitDelay = lingering
	err := command.Run()
	out := output{stdout: stdout.kept.Bytes(), stderr: stderr.kept.Bytes()}
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = p.kill(command.Process.Pid) // it left something behind that holds the pipes
		err = nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return out, cause
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return out, err
	}
	out.code = exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		out.code = 128 + int(status.Signal())
		out.stderr = append(out.stderr, "\nended by the signal: "+status.Signal().String()...)
	}
	return out, nil
}

// kill ends the process group of a program, and what it started in groups of their own.
func (p process) kill(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if p.mark != "" {
		killMarked(p.mark)
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
		b.full(errFlood)
		return 0, errFlood
	}
	b.left -= int64(len(piece))
	return b.kept.Write(piece)
}
