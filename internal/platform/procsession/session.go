package procsession

import (
	"os"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
)

// Session is that of a process which leads one. Process numbers are reused: the leader is known by its start too.
type Session struct {
	leader  int
	started uint64
}

// Of returns the session that a process leads; ok is false if it leads none, or is gone.
func Of(leader int) (s Session, ok bool) {
	stat, ok := read(leader)
	return Session{leader, stat.Starttime}, ok && leader > 1 && stat.Session == leader
}

// Signal sends a signal to each process of the session that belongs says yes to, and returns how many there are. While
// one is left, the kernel gives the leader's number to no other process.
func (s Session) Signal(signal os.Signal, belongs func(pid int) bool) (found int) {
	if stat, there := read(s.leader); there && (stat.Session != s.leader || stat.Starttime != s.started) {
		return 0 // all have ended, and the number is another's
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		process, err := os.FindProcess(pid) // before it is looked at: the handle stays that of this process
		if err != nil {
			continue
		}
		if stat, there := read(pid); there && stat.Session == s.leader && belongs(pid) {
			found++
			_ = process.Signal(signal) // it may have ended since
		}
		_ = process.Release()
	}
	return found
}

// read returns what the kernel knows of a process that has not ended.
func read(pid int) (stat procfs.ProcStat, ok bool) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return stat, false
	}
	stat, err = process.Stat()
	return stat, err == nil && stat.State != "Z" && stat.State != "X"
}

// Hangup are the signals by which a session is asked to end: SIGHUP for shells, which pass it on, and SIGTERM.
func Hangup() []os.Signal { return []os.Signal{syscall.SIGHUP, syscall.SIGTERM} }
