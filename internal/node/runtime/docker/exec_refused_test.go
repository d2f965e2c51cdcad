package docker

import (
	"strings"
	"testing"
)

func TestRefusedText(t *testing.T) {
	for name, tc := range map[string]struct{ engine, want string }{
		"no shell":   {`OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH: unknown` + "\r\n", "the image has no program sh (built FROM scratch?)"},
		"by path":    {`OCI runtime exec failed: exec failed: container_linux.go:380: starting container process caused: exec: "/bin/bash": stat /bin/bash: no such file or directory: unknown`, "the image has no program /bin/bash (built FROM scratch?)"},
		"no program": {`OCI runtime exec failed: exec failed: unable to start container process: exec: "rails": executable file not found in $PATH: unknown`, "the image has no program rails"},
		"ended":      {"OCI runtime exec failed: exec failed: container_linux.go:380: starting container process caused: process_linux.go:99: starting setns process caused: exit status 1: unknown", "the container isn't running: it has ended just now"},
		"stopped": {"OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown",
			"the container isn't running: it has ended just now"},
		"another": {"OCI runtime exec failed: something new", "something new"},
	} {
		if got := refusedText(tc.engine); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestFirstWords: an engine's message is held back, and all that a command writes passes.
func TestFirstWords(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		written    []string
		to, engine string
	}{
		"a command's": {"it passes", []string{"a", "OCI runtime exec failed: no"}, "aOCI runtime exec failed: no", ""},
		"the engine's": {"it is held back", []string{"OCI runtime exec failed: no", " sh"}, "",
			"OCI runtime exec failed: no sh"},
		"a lot of both": {"no engine says so much", []string{"OCI runtime exec failed: ", strings.Repeat("x", maxBuffered)},
			"OCI runtime exec failed: " + strings.Repeat("x", maxBuffered), "OCI runtime exec failed: "},
	} {
		var to strings.Builder
		first := &firstWords{to: &to}
		for _, text := range tc.written {
			if n, err := first.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if to.String() != tc.to || first.said.String() != tc.engine {
			t.Errorf("%s: %s: %.60q and %.60q", name, tc.reason, to.String(), first.said.String())
		}
	}
}
