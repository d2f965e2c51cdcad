//go:build linux

package shim

import (
	"os"
	"os/exec"
	"testing"
)

// TestIdentity: a process differs from another one with the same id, and from one before a reboot.
func TestIdentity(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	younger, older := self, self
	younger.Start++
	older.Boot = "another"
	tests := map[string]struct {
		reason   string
		identity Identity
		alive    bool
	}{
		"itself":       {"it runs", self, true},
		"other start":  {"the number was used again", younger, false},
		"other boot":   {"the machine was restarted", older, false},
		"never":        {"no shim was ever started", Identity{}, false},
		"long gone":    {"no process has the number", Identity{PID: 1 << 30, Start: 1, Boot: self.Boot}, false},
		"group of pid": {"a negative number is a group", Identity{PID: -1, Start: self.Start, Boot: self.Boot}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.identity.Alive(); got != tc.alive {
				t.Errorf("%s: alive %v", tc.reason, got)
			}
		})
	}
}

// TestDescendants finds children of children. A program's name that resembles the table's syntax doesn't confuse it.
func TestDescendants(t *testing.T) {
	dir := t.TempDir()
	odd := dir + "/a) Z 1 1 ("
	script := "#!/bin/sh\nsleep 1000 & echo; wait\n"
	if err := os.WriteFile(odd, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), odd)
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	found := Descendants(os.Getpid())
	if len(found) != 2 || found[0].PID != command.Process.Pid || found[1].Parent != command.Process.Pid {
		t.Errorf("found %+v", found)
	}
	for _, process := range found {
		if process.Dead() {
			t.Errorf("%+v passes for dead", process)
		}
		if other, err := os.FindProcess(process.PID); err == nil {
			_ = other.Kill()
		}
	}
	_ = command.Wait()
}
