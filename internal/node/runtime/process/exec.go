//go:build linux

package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
	"tend.dev/tend/internal/platform/procsession"
)

// shell is a command run in a container: beside its program, as the same user, in the same folder. It is a child of
// this process and ends with the container.
type shell struct {
	command *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	tty     bool
	done    chan struct{}
	closing sync.Once
}

// Exec implements runtime.Runtime.
func (r *Runtime) Exec(ctx context.Context, id string, opts runtime.ExecOptions) (runtime.Exec, error) {
	dir, record, err := r.find(ctx, id)
	if err != nil {
		return nil, err
	}
	status, err := shim.ReadStatus(dir)
	if err != nil {
		return nil, err
	}
	if status.State != runtime.StateRunning {
		return nil, notRunning(record)
	}
	command, err := r.command(record, opts)
	if err != nil {
		return nil, err
	}
	s := &shell{command: command, tty: opts.TTY, done: make(chan struct{})}
	if err := s.start(opts); err != nil {
		detail := fmt.Sprintf("%s can't be run in %s: %v", opts.Command[0], record.Name, cmp.Or(errors.Unwrap(err), err))
		if errors.Is(err, fs.ErrNotExist) {
			detail = fmt.Sprintf("neither the image of %s nor %s has a program %s", record.Name, r.place(), opts.Command[0])
		}
		return nil, &runtime.RejectedError{
			Reason: "CommandNotFound", Detail: detail, Next: "name a program that one of them has",
		}
	}
	r.shells.add(record.ID, s)
	r.work.Go(func() {
		_ = s.command.Wait()
		close(s.done)
		r.shells.remove(record.ID, s)
	})
	return s, nil
}

func (r *Runtime) command(record shim.Record, opts runtime.ExecOptions) (*exec.Cmd, error) {
	if len(opts.Command) == 0 {
		return nil, invalid("command", errors.New("it is empty"))
	}
	program := record.Program
	user := program.User
	if opts.User != "" {
		account, err := r.account(opts.User, "")
		if err != nil {
			return nil, err
		}
		user = account.user
	}
	image, err := r.images.ByID(record.ImageID)
	if err != nil {
		return nil, err
	}
	dir := program.Dir
	if opts.WorkingDir != "" {
		dir = folderOf(image.Root, opts.WorkingDir)
	}
	own, err := r.open(record)
	if err != nil {
		return nil, err
	}
	env := slices.Concat(own, opts.Env)
	return &exec.Cmd{
		Path: lookUp(image.Root, dir, opts.Command[0], pathIn(env)), Args: opts.Command, Env: env, Dir: dir,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Credential: user.Credential()},
	}, nil
}

func pathIn(env []string) string {
	path := defaultPath
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	return path
}

// start connects the command to pipes or a terminal, and runs it. It then closes its own copies of the command's ends.
func (s *shell) start(opts runtime.ExecOptions) error {
	theirs, err := s.connect(opts)
	if err == nil {
		err = s.command.Start()
	}
	for _, file := range theirs {
		_ = file.Close()
	}
	if err != nil {
		s.closeFiles()
	}
	return err
}

func (s *shell) connect(opts runtime.ExecOptions) (theirs []*os.File, err error) {
	if opts.TTY {
		return s.connectTerminal(opts)
	}
	if opts.Stdin {
		in, ours, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		s.command.Stdin, s.stdin = in, ours
		theirs = append(theirs, in)
	}
	ours, out, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	s.command.Stdout, s.stdout = out, ours
	theirs = append(theirs, out)
	if ours, out, err = os.Pipe(); err != nil {
		return theirs, err
	}
	s.command.Stderr, s.stderr = out, ours
	return append(theirs, out), nil
}

func (s *shell) connectTerminal(opts runtime.ExecOptions) (theirs []*os.File, err error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, err
	}
	s.stdin, s.stdout = master, master
	s.command.Stdin, s.command.Stdout, s.command.Stderr = slave, slave, slave
	s.command.SysProcAttr.Setctty = true
	resizeTerminal(master, opts.Width, opts.Height)
	return []*os.File{slave}, nil
}

func (s *shell) Stdin() io.WriteCloser {
	if s.stdin == nil {
		return noInput{}
	}
	if s.tty {
		return terminalInput{s.stdin}
	}
	return s.stdin
}

func (s *shell) Stdout() io.Reader {
	if s.tty {
		return terminalOutput{s.stdout}
	}
	return s.stdout
}

func (s *shell) Stderr() io.Reader {
	if s.stderr == nil {
		return strings.NewReader("")
	}
	return s.stderr
}

func (s *shell) Resize(_ context.Context, width, height int) error {
	if s.tty {
		resizeTerminal(s.stdout, width, height)
	}
	return nil
}

func (s *shell) Wait(ctx context.Context) (int, error) {
	select {
	case <-s.done:
		return exitCode(s.command.ProcessState), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// Close kills the command and everything it started that has no session of its own.
func (s *shell) Close() error {
	s.closing.Do(func() {
		s.kill()
		<-s.done
		s.closeFiles()
	})
	return nil
}

func (s *shell) kill() {
	select {
	case <-s.done: // its process number may be in use again
	default:
		if session, leads := procsession.Of(s.command.Process.Pid); leads { // jobs of a shell have groups of their own
			session.Signal(unix.SIGKILL, func(int) bool { return true })
		}
		_ = unix.Kill(-s.command.Process.Pid, unix.SIGKILL)
	}
}

func (s *shell) closeFiles() {
	for _, file := range []*os.File{s.stdin, s.stdout, s.stderr} {
		if file != nil {
			_ = file.Close()
		}
	}
}

// noInput is the standard input of a command without one.
type noInput struct{}

func (noInput) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (noInput) Close() error              { return nil }
