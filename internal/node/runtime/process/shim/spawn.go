//go:build linux

package shim

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Child is a shim that this process started, with a connection to it.
type Child struct {
	*Conn
	// Early holds the shim's messages up to the start of its program.
	Early   []Message
	process *exec.Cmd
}

// Reap removes the ended shim from the kernel's process table. Call it after its connection ended.
func (c *Child) Reap() { _ = c.process.Wait() }

// Spawn starts a folder's shim and its program with an environment. Without an error, the program runs. A *StartError
// is the program's own error; ErrRunning means that another shim was faster.
func Spawn(dir string, env []string) (*Child, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	complaints, err := os.OpenFile(filepath.Join(dir, "shim.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	defer complaints.Close()
	environment, err := handOver(env)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	defer environment.Close()
	process := &exec.Cmd{
		Path: selfPath, Args: []string{"tend", command, stageRun, dir}, Dir: "/",
		Env:        []string{"GOMAXPROCS=1", "PATH=" + os.Getenv("PATH")},
		Stdout:     complaints,
		Stderr:     complaints,
		ExtraFiles: []*os.File{theirs, environment},
		// The shim gets its own session, so that whatever ends the server's session, such as Ctrl-C in a terminal, doesn't
		// reach it.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := process.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start shim: %w", err), conn.Close())
	}
	_ = theirs.Close() // otherwise the shim's death would not end the connection
	child := &Child{Conn: NewConn(conn), process: process}
	if err := child.await(dir); err != nil {
		return nil, err
	}
	return child, nil
}

// StartError is the reason why a program could not be started, and the step that helps.
type StartError struct{ Reason, Text, Next string }

// correctCause is the step if no better one is known.
const correctCause = "correct the cause that the message names, and apply again"

func (e *StartError) Error() string { return e.Text }

func (c *Child) await(dir string) error {
	err := c.ready(dir)
	if err != nil {
		_ = c.Close()
		c.Reap()
	}
	return err
}

// ready reads messages up to the result of the first start, and keeps the events before it.
func (c *Child) ready(dir string) error {
	var early []Message
	for {
		message, err := c.Next()
		switch {
		case err != nil:
			return fmt.Errorf("%w: it ended at once; %s says why", ErrGone, filepath.Join(dir, "shim.log"))
		case !message.Ready:
			early = append(early, message)
		case message.Error == ErrRunning.Error():
			return ErrRunning
		case message.Error != "":
			return &StartError{cmp.Or(message.Reason, "StartFailed"), message.Error, cmp.Or(message.Next, correctCause)}
		default:
			c.Early = early
			return nil
		}
	}
}

func socketPair() (ours net.Conn, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	near, far := os.NewFile(uintptr(pair[0]), "shim"), os.NewFile(uintptr(pair[1]), "runtime")
	defer near.Close()
	ours, err = net.FileConn(near)
	if err != nil {
		return nil, nil, errors.Join(err, far.Close())
	}
	return ours, far, nil
}
