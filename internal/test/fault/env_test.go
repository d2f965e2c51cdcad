package fault

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestParse(t *testing.T) {
	for text, tt := range map[string]struct {
		reason string
		name   string
		at     int
	}{
		"store.apply.before":               {"a name alone is its first hit", "store.apply.before", 1},
		"store.deployment.tasks.after:3":   {"a site may have dots", "store.deployment.tasks.after", 3},
		"runtime.create.after:12":          {"any hit", "runtime.create.after", 12},
		"runtime.create.after:0":           {"hits count from 1", "", 0},
		"runtime.create.after:":            {"a colon promises a number", "", 0},
		"runtime.create.after:x":           {"a colon promises a number", "", 0},
		"runtime.create":                   {"a point is before or after", "", 0},
		"runtime.before":                   {"a point has a verb", "", 0},
		"network.create.before":            {"only the two decorators have points", "", 0},
		"store.apply.during":               {"a point is before or after", "", 0},
		"/etc/passwd store.apply.before:1": {"a name starts with its decorator", "", 0},
	} {
		name, at, err := parse(text)
		if name != tt.name || at != tt.at || (err == nil) != (tt.name != "") || (err != nil && !errors.Is(err, ErrSyntax)) {
			t.Errorf("%s: %s: got %q %d %v", text, tt.reason, name, at, err)
		}
	}
}

func TestFromEnvWithoutVariablesIsNoPoints(t *testing.T) {
	t.Setenv(EnvCrash, "")
	t.Setenv(EnvTrace, "")
	if points, err := FromEnv(); points != nil || err != nil {
		t.Errorf("got %v, %v", points, err)
	}
}

func TestFromEnvRefusesWhatItCantDo(t *testing.T) {
	t.Setenv(EnvCrash, "nonsense")
	if _, err := FromEnv(); !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("nonsense: %v", err)
	}
	t.Setenv(EnvCrash, "")
	t.Setenv(EnvTrace, filepath.Join(t.TempDir(), "no", "such", "folder"))
	if _, err := FromEnv(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
}

// childOf is the variable that makes the test binary the process that dies.
const childOf = "TEND_FAULT_TEST_CHILD"

func TestKillsTheProcess(t *testing.T) {
	if os.Getenv(childOf) != "" {
		points, err := FromEnv()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_ = points.Hit("store.apply.before")
		}
		os.Exit(0)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	child := exec.Command(os.Args[0], "-test.run=^TestKillsTheProcess$")
	child.Env = append(os.Environ(), childOf+"=1", EnvCrash+"=store.apply.before:2", EnvTrace+"="+trace)
	err := child.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the child ended with %v", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("the child ended with %v, want SIGKILL", err)
	}
	traced, err := os.ReadFile(trace)
	if want := strings.Repeat("store.apply.before\n", 2); err != nil || string(traced) != want {
		t.Errorf("the trace is %q (%v), want %q", traced, err, want)
	}
}
