//go:build linux

package shim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	goruntime "runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/node/runtime/process/journal"
	"tend.dev/tend/internal/node/runtime/restart"
)

// The hidden commands: tend shim run FOLDER, and tend shim limits FOLDER, the stage between fork and program.
const (
	command     = "shim"
	stageRun    = "run"
	stageLimits = "limits"
	// selfPath executes this very binary, even if it was replaced on disk.
	selfPath = "/proc/self/exe"
	// firstWatcher is the file descriptor of the connection to the runtime that started the shim.
	firstWatcher = 3
)

// Maybe runs the shim and ends the process if this process was started as a shim.
func Maybe() {
	if len(os.Args) == 4 && os.Args[1] == command && (os.Args[2] == stageRun || os.Args[2] == stageLimits) {
		os.Exit(Main(os.Args[2:]))
	}
}

// Main runs the shim and returns its exit code. args are the stage and the container's folder.
func Main(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "tend shim is started by tend itself, never by hand")
		return 2
	}
	var err error
	switch args[0] {
	case stageLimits:
		err = becomeProgram(args[1])
	default:
		err = supervise(args[1])
	}
	if err != nil {
		complain(err)
		return failedStart
	}
	return 0
}

func complain(err error) { fmt.Fprintln(os.Stderr, "tend shim:", err) }

// supervise runs the container of a folder until it will not run again.
func supervise(dir string) error {
	goruntime.LockOSThread()
	debug.SetGCPercent(25) // shims are many, and idle most of the time
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	unlock, err := lock(dir)
	if err != nil {
		tellFirst(Message{Ready: true, Error: err.Error(), At: time.Now()})
		return err
	}
	defer unlock()
	s, err := newSupervisor(dir)
	if err != nil {
		tellFirst(Message{Ready: true, Error: err.Error(), At: time.Now()})
		return err
	}
	defer s.output.Close()
	s.listen()
	if conn := inherited(); conn != nil {
		s.listener.admit(conn, Message{At: time.Now()})
	}
	if err := s.first(); err != nil {
		s.notify(Message{Ready: true, Error: err.Text, Reason: err.Reason, Next: err.Next})
		return nil
	}
	s.notify(Message{Ready: true})
	s.run()
	return nil
}

func newSupervisor(dir string) (*supervisor, error) {
	record, err := ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	if record.Program.Env, err = handedOver(); err != nil {
		return nil, err
	}
	s := &supervisor{dir: dir}
	if s.status, err = ReadStatus(dir); err != nil {
		return nil, err
	}
	s.status.RestartCount = 0
	if s.status.Shim, err = Self(); err != nil {
		return nil, err
	}
	if s.policy, err = restart.Parse(record.Restart); err != nil {
		return nil, err
	}
	if s.output, err = journal.Open(dir, record.LogSize, record.LogFiles); err != nil {
		return nil, err
	}
	group, err := makeGroup(record.ID, record.Program)
	if err != nil {
		return nil, err
	}
	s.child = &child{dir: dir, record: record, group: group, home: homeGroups()}
	s.listener, err = listenAt(dir)
	return s, err
}

// lockTime bounds the wait for a shim that is about to end.
const lockTime = time.Second

// lock makes sure that a container has only one shim. The kernel releases the lock when the process ends.
func lock(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(dir+"/"+lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(began) > lockTime {
			return nil, errors.Join(ErrRunning, file.Close())
		}
	}
}

// locked reports, without waiting, whether a shim holds the container's lock.
func locked(dir string) (bool, error) {
	file, err := os.OpenFile(dir+"/"+lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// inherited returns the connection to the runtime that started the shim.
func inherited() net.Conn {
	file := os.NewFile(firstWatcher, "runtime")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil
	}
	return conn
}

func tellFirst(message Message) {
	if conn := inherited(); conn != nil {
		say(conn, message)
	}
}

func signalName(number syscall.Signal) string {
	if name := unix.SignalName(number); name != "" {
		return name
	}
	return fmt.Sprint(int(number))
}
