//go:build integration

package packages

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// machine is a Debian of its own: a container whose first process is systemd.
type machine struct {
	*testing.T
	container string
}

// start is the machine's first process. The group of processes that it may divide further is its own part alone.
const start = `mount -o remount,rw /sys/fs/cgroup/systemd 2>/dev/null || mount -o remount,rw /sys/fs/cgroup
exec /lib/systemd/systemd`

// newMachine starts a machine and waits until its units have started.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{T: t, container: prefix + "-machine"}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(m.try("journalctl --no-pager -n 60 -u tend -u tend-agent"))
		}
		if err := quiet("docker", "rm", "-f", "-v", m.container); err != nil {
			t.Error(err)
		}
	})
	err := quiet("docker", "run", "-d", "--name", m.container, "--hostname", "one", "--cap-add", "SYS_ADMIN",
		"--security-opt", "seccomp=unconfined",
		"--security-opt", "apparmor=unconfined", "--cgroupns", "private", "--tmpfs", "/run", "--tmpfs", "/tmp",
		"-v", built+":/debs:ro",
		machineImage, "/bin/sh", "-c", start)
	if err != nil {
		t.Fatal(err)
	}
	m.until("systemd has started", func() bool { // some units of a real machine fail in a container: that is "degraded"
		state := m.try("systemctl is-system-running")
		return state == "running" || state == "degraded"
	})
	return m
}

// try runs a shell command on the machine and returns its output, also if it fails.
func (m *machine) try(command string) string {
	output, _ := exec.Command("docker", "exec", m.container, "timeout", patience, "sh", "-c", command).CombinedOutput()
	return strings.TrimSpace(string(output))
}

// run runs a shell command that has to succeed, and returns its output.
func (m *machine) run(command string) string {
	m.Helper()
	output, err := exec.Command("docker", "exec", m.container, "timeout", patience, "sh", "-ec", command).CombinedOutput()
	if err != nil {
		m.Fatalf("%s: %v: %s", command, err, output)
	}
	return strings.TrimSpace(string(output))
}

// is demands that a command writes exactly that.
func (m *machine) is(command, want string) {
	m.Helper()
	if got := m.try(command); got != want {
		m.Fatalf("%s: %s; want %s", command, got, want)
	}
}

// until waits for a condition.
func (m *machine) until(what string, holds func() bool) {
	m.Helper()
	limit, _ := time.ParseDuration(patience)
	deadline := time.After(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			m.Fatalf("in vain: %s", what)
		}
	}
}

// processes returns the ids of the machine's processes that run the test server.
func (m *machine) processes() string {
	m.Helper()
	return m.run(`for p in /proc/[0-9]*; do case "$(cat $p/comm)" in server) echo ${p#/proc/} ;; esac; done`)
}
