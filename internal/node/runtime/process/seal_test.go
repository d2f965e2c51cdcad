//go:build linux

package process

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/runtime"
)

// turned reverses a value: a sealed value never equals the opened one.
func turned(value []byte) ([]byte, error) {
	out := slices.Clone(value)
	slices.Reverse(out)
	return out, nil
}

func (b *bench) sealed(open func([]byte) ([]byte, error)) {
	b.Helper()
	_ = b.rt.Close()
	var err error
	if b.rt, err = New(Options{Root: b.root, Cluster: "c1", Node: "n1", Seal: turned, Open: open}); err != nil {
		b.Fatal(err)
	}
}

// found lists the files below the root that contain a text, either plain or in base64.
func (b *bench) found(text string) (files []string) {
	b.Helper()
	err := filepath.WalkDir(b.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) || bytes.Contains(raw, []byte(base64.StdEncoding.EncodeToString([]byte(text)))) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return files
}

// TestEnvironmentIsSealed: a container's folder holds its environment encrypted. Its program gets it in plain text,
// also after each restart and with limits, and so does every command run beside it.
func TestEnvironmentIsSealed(t *testing.T) {
	b := newBench(t)
	b.sealed(turned)
	odd := "hunter2 = \"one\"\n'two'\n" + strings.Repeat("x", 64<<10) + "\nend"
	for name, limits := range map[string]map[string]string{"plain": nil, "limited": {"nofile": "512:512"}} {
		s := spec(name, "sh", "-c", `test "$SECRET" = "$(cat `+b.root+`/want)" && echo the same; sleep 0.1; exit 1`)
		s.Env, s.Spec.Ulimits, s.Restart = map[string]string{"SECRET": odd}, limits, "on-failure:2"
		if err := os.WriteFile(filepath.Join(b.root, "want"), []byte(odd), 0o644); err != nil {
			t.Fatal(err)
		}
		c := b.run(s)
		b.until(c.ID, "two restarts", func(c runtime.Container) bool {
			return c.State == runtime.StateExited && c.RestartCount == 2
		})
		if got := strings.Count(b.output(c.ID), "the same"); got != 3 {
			t.Errorf("%s: %d of 3 starts had the value: %s", name, got, b.output(c.ID))
		}
		if err := os.Remove(filepath.Join(b.root, "want")); err != nil {
			t.Fatal(err)
		}
		if files := b.found("hunter2"); len(files) != 0 {
			t.Errorf("%s: the value lies in %v", name, files)
		}
	}
	waits := spec("exec", "/server", "wait")
	waits.Env = map[string]string{"SECRET": "hunter2"}
	c := b.run(waits)
	b.sealed(turned) // a new server has the same key
	run, err := b.rt.Exec(t.Context(), c.ID, runtime.ExecOptions{Command: []string{"sh", "-c", `test "$SECRET" = hunter2`}})
	if err != nil {
		t.Fatal(err)
	}
	if code, err := run.Wait(t.Context()); code != 0 || err != nil {
		t.Errorf("a command beside it: %d, %v", code, err)
	}
}

// TestEnvironmentNeedsItsKey: without the key no program starts, since its environment would be incomplete.
func TestEnvironmentNeedsItsKey(t *testing.T) {
	b := newBench(t)
	b.sealed(turned)
	s := spec("a", "/server", "wait")
	s.Env = map[string]string{"SECRET": "hunter2"}
	c, err := b.rt.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	b.sealed(func([]byte) ([]byte, error) { return nil, errors.New("no key fits") })
	var rejected *runtime.RejectedError
	if err := b.rt.Start(t.Context(), c.ID); !errors.As(err, &rejected) || rejected.Reason != "EnvironmentSealed" || rejected.Next == "" {
		t.Errorf("%v", err)
	}
}
