package plugin

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lay writes files into a folder: a name ending in * is executable.
func lay(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if trimmed, executable := strings.CutSuffix(name, "*"); executable {
			name, mode = trimmed, 0o755
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// open makes a root of folders of plugins.
func open(t *testing.T, files map[string]string, change ...func(*Options)) *Root {
	t.Helper()
	opts := Options{Dir: lay(t, t.TempDir(), files), Node: "n1", Timeout: 20 * time.Second}
	for _, c := range change {
		c(&opts)
	}
	r, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Root) must(t *testing.T, name string) *Plugin {
	t.Helper()
	p, err := r.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func script(body string) string { return "#!/bin/sh\n" + body + "\n" }

// wantReason asserts the reason of an error, and that it has a next step.
func wantReason(t *testing.T, err error, want Reason, part string) {
	t.Helper()
	var fault *Error
	if !errors.As(err, &fault) || fault.Reason != want || !strings.Contains(err.Error(), part) || fault.Next == "" {
		t.Errorf("got %v (%+v), want %s with %q and a next step", err, fault, want, part)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(context.Background(), "git",
		append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, output)
	}
}

// at returns a Endpoint with a URL that doesn't answer.
func at(url string) Endpoint {
	return func(context.Context) (string, func(), error) { return url, func() {}, nil }
}
