//go:build linux

package shim

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitNumbers maps docker's names of resource limits to the kernel's numbers.
var limitNumbers = map[string]int{
	"as": unix.RLIMIT_AS, "core": unix.RLIMIT_CORE, "cpu": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA,
	"fsize": unix.RLIMIT_FSIZE, "locks": unix.RLIMIT_LOCKS, "memlock": unix.RLIMIT_MEMLOCK,
	"msgqueue": unix.RLIMIT_MSGQUEUE, "nice": unix.RLIMIT_NICE, "nofile": unix.RLIMIT_NOFILE,
	"nproc": unix.RLIMIT_NPROC, "rss": unix.RLIMIT_RSS, "rtprio": unix.RLIMIT_RTPRIO, "rttime": unix.RLIMIT_RTTIME,
	"sigpending": unix.RLIMIT_SIGPENDING, "stack": unix.RLIMIT_STACK,
}

// KnownLimit reports whether a resource limit has the name.
func KnownLimit(name string) bool {
	_, ok := limitNumbers[name]
	return ok
}

// becomeProgram sets the limits, changes to the program's user and executes the program. The process already has the
// program's environment. It returns only on failure.
func becomeProgram(dir string) error {
	record, err := ReadRecord(dir)
	if err != nil {
		return err
	}
	program := record.Program
	for name, limit := range program.Limits {
		// Go raised the limit of open files at start. syscall.Exec restores it unless syscall.Setrlimit has set it, so this
		// doesn't use package unix.
		if err := syscall.Setrlimit(limitNumbers[name], &syscall.Rlimit{Cur: limit[0], Max: limit[1]}); err != nil {
			return fmt.Errorf("set limit %s to %d:%d: %w", name, limit[0], limit[1], err)
		}
	}
	runtime.LockOSThread()
	if err := program.User.become(); err != nil {
		return fmt.Errorf("become user: %w", err)
	}
	// A change of user resets the parent-death signal.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with the shim: %w", err)
	}
	return fmt.Errorf("run %s: %w", program.Path, syscall.Exec(program.Path, program.Args, os.Environ()))
}

func (u *User) become() error {
	if u == nil {
		return nil
	}
	groups := make([]int, 0, len(u.Groups))
	for _, group := range u.Groups {
		groups = append(groups, int(group))
	}
	if err := syscall.Setgroups(groups); err != nil {
		return err
	}
	if err := syscall.Setgid(int(u.GID)); err != nil {
		return err
	}
	return syscall.Setuid(int(u.UID))
}
