package procsession

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// Session is that of a process which leads one. Process numbers are reused: the leader is known by its start too.
type Session struct {
	leader  int
	started string
}

// Of returns the session that a process leads; ok is false if it leads none, or is gone.
func Of(leader int) (s Session, ok bool) {
	found, started, ok := read(leader)
	return Session{leader, started}, ok && leader > 1 && found == leader
}

// Signal sends a signal to each process of the session that belongs says yes to, and returns how many there are. While
// one is left, the kernel gives the leader's number to no other process.
func (s Session) Signal(signal os.Signal, belongs func(pid int) bool) (found int) {
	if session, started, there := read(s.leader); there && (session != s.leader || started != s.started) {
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
		if session, _, there := read(pid); there && session == s.leader && belongs(pid) {
			found++
			_ = process.Signal(signal) // it may have ended since
		}
		_ = process.Release()
	}
	return found
}

// read returns the session and the start of a process that has not ended, from /proc/PID/stat.
func read(pid int) (session int, started string, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, "", false
	}
	_, after, _ := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" ")) // the name may have spaces
	// From the third field on: state, parent, group, session (the 6th), …, start (the 22nd).
	fields := bytes.Fields(after)
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, "", false
	}
	session, err = strconv.Atoi(string(fields[3]))
	return session, string(fields[19]), err == nil
}

// Hangup are the signals by which a session is asked to end: SIGHUP for shells, which pass it on, and SIGTERM.
func Hangup() []os.Signal { return []os.Signal{syscall.SIGHUP, syscall.SIGTERM} }
