//go:build integration

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/api"
)

// TestLabsAsProcesses: without an engine, too, a lab begins once and ends by itself, at its end time or when it is
// stopped, and leaves no process.
func TestLabsAsProcesses(t *testing.T) {
	m := newMachine(t, "--runtime", "process")
	folder := t.TempDir()
	for _, part := range []string{m.root, folder, filepath.Dir(folder)} { // who the processes run as passes through
		if err := os.Chmod(part, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	m.start()
	run := func(name, duration, then string) string {
		return `lab "SCOPE" "` + name + `" {
  image    = "` + folder + `"
  command  = ["/bin/sh", "-c", "echo $$ >> ` + filepath.Join(folder, name) + `; ` + then + `"]
  owner    = "ada@example.org"
  duration = "` + duration + `"
}
`
	}
	manifest := run("brief", "3s", "exec sleep 600") + run("done", "1h", "exit 0") + run("broken", "1h",
		"exit 7") + run("stopped", "1h", "exec sleep 600")
	m.wantSaid(m.tend("apply", "--no-wait", "-f", m.file("labs.hcl", manifest)), 0)
	m.labIs("done", api.LabCompleted, api.ReasonCompleted)
	m.labIs("broken", api.LabFailed, api.ReasonExited)
	m.labIs("brief", api.LabTimeout, api.ReasonTimedOut)
	m.labIs("stopped", api.LabRunning, api.ReasonRunning)
	m.wantSaid(m.tend("lab", "stop", m.scope+"/stopped"), 0, "stopped")
	m.labIs("stopped", api.LabCompleted, api.ReasonStopped)
	for _, name := range []string{"done", "broken", "brief", "stopped"} {
		began, err := os.ReadFile(filepath.Join(folder, name))
		pid, parsed := strconv.Atoi(strings.TrimSpace(string(began)))
		if err := errors.Join(err, parsed); err != nil {
			t.Errorf("%s began not once: %q, %v", name, began, err)
			continue
		}
		m.until("no process of "+name+" is left", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
}
