package docker

import (
	"strings"
	"testing"
)

func TestRefusedText(t *testing.T) {
	const pod, begins = "prod-web.ab12", "OCI runtime exec failed: exec failed: "
	for name, tc := range map[string]struct{ engine, want, next string }{
		"no shell": {begins + `unable to start container process: exec: "sh": executable file not found in $PATH: unknown` +
			"\r\n",
			"the image of prod-web.ab12 has no program sh (built FROM scratch?)", "name a program that it has"},
		"by path": {begins + `container_linux.go:380: starting container process caused: exec: "/bin/bash": stat /bin/bash: ` +
			`no such file or directory: unknown`,
			"the image of prod-web.ab12 has no program /bin/bash (built FROM scratch?)", "name a program that it has"},
		"no program": {begins + `unable to start container process: exec: "rails": executable file not found in $PATH: unknown`,
			"the image of prod-web.ab12 has no program rails", "name a program that it has"},
		"a folder": {begins + `unable to start container process: exec: "/data": permission denied: unknown`,
			"/data can't be run: it isn't executable, or is a folder", "name a program of its image that can be run"},
		"ended": {begins + "container_linux.go:380: starting container process caused: process_linux.go:99: starting setns " +
			"process caused: exit status 1: unknown", "prod-web.ab12 ended just now", "its output: tend logs prod-web.ab12"},
		"stopped": {begins + "cannot exec in a stopped container: unknown", "prod-web.ab12 ended just now",
			"its output: tend logs prod-web.ab12"},
		"another": {"OCI runtime exec failed: something new", "exec in prod-web.ab12: something new",
			"more: tend describe prod-web.ab12"},
	} {
		if got, next := refusedText(pod, tc.engine); got != tc.want || next != tc.next {
			t.Errorf("%s: %q, next %q, want %q, next %q", name, got, next, tc.want, tc.next)
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
