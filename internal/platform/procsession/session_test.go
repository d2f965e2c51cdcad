//go:build linux

package procsession_test

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/internal/platform/procsession"
)

// start runs a script that leads a session, and returns the numbers that it prints, in one line.
func start(t *testing.T, script string) (*exec.Cmd, []int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", script)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, field := range strings.Fields(line) {
		n, _ := strconv.Atoi(field)
		numbers = append(numbers, n)
	}
	return command, numbers
}

func all(int) bool { return true }

// A session ends with its jobs, which have groups of their own; another session doesn't.
func TestASessionEnds(t *testing.T) {
	command, pids := start(t, `set -m; sleep 1000 & echo $!; wait`)
	other := exec.CommandContext(t.Context(), "sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	session, ok := procsession.Of(command.Process.Pid)
	if !ok {
		t.Fatal("it leads no session")
	}
	if n := session.Signal(syscall.SIGKILL, func(int) bool { return false }); n != 0 {
		t.Errorf("%d processes that don't belong are signalled", n)
	}
	if n := session.Signal(syscall.SIGKILL, all); n < 2 {
		t.Errorf("%d processes are found, want the shell and its job", n)
	}
	_ = command.Wait()
	for session.Signal(syscall.SIGKILL, all) > 0 { // they end
	}
	if err := syscall.Kill(pids[0], 0); err == nil && !gone(pids[0]) {
		t.Error("the job runs on")
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another session has ended: %v", err)
	}
}

func gone(pid int) bool {
	_, ok := procsession.Of(pid)
	return !ok
}

// A process that leads no session has none to end: its number would be that of others.
func TestAMemberLeadsNoSession(t *testing.T) {
	command, pids := start(t, `sleep 1000 & echo $!; wait`)
	defer func() { _ = command.Process.Kill(); _ = command.Wait(); _ = syscall.Kill(pids[0], syscall.SIGKILL) }()
	if _, ok := procsession.Of(pids[0]); ok {
		t.Error("a child of the leader is taken for one")
	}
	if _, ok := procsession.Of(1 << 22); ok {
		t.Error("what isn't there leads a session")
	}
}
