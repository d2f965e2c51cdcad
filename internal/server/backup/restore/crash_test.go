package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// childLimit is the size of files that a child process can write: beyond it its disk is full.
const childLimit = "TEND_TEST_RESTORE_LIMIT"

// childRoot names the root into which a child process restores its standard input.
const childRoot = "TEND_TEST_RESTORE_ROOT"

func child() {
	root := os.Getenv(childRoot)
	if root == "" {
		return
	}
	if limit, err := strconv.ParseUint(os.Getenv(childLimit), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
	}
	_, err := Restore(context.Background(), os.Stdin, Options{Root: root, Force: true})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilledWhileItReads: a restore that is killed half-way leaves a root that a server refuses to start with, and that
// the next restore accepts.
func TestKilledWhileItReads(t *testing.T) {
	from, root := newSource(t), filepath.Join(t.TempDir(), "root")
	file := from.file(t)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childRoot+"="+root)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(file[:len(file)*2/3]); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for _, err := os.Stat(filepath.Join(root, partial, "root")); err != nil; _,
		err = os.Stat(filepath.Join(root, partial, "root")) {
		if time.Now().After(deadline) {
			t.Fatal("the restore has not begun")
		}
		runtime.Gosched()
	}
	if _, err := Restore(t.Context(), bytes.NewReader(file), Options{Root: root}); err == nil {
		t.Error("two restores write to one root")
	}
	if err := CheckRoot(root, filepath.Join(root, "state")); !errors.Is(err, ErrBusy) {
		t.Errorf("a server starts beside a restore: %v", err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if err := CheckRoot(root, filepath.Join(root, "state")); !errors.Is(err, ErrInterrupted) {
		t.Errorf("a server founds a new cluster where one was to be restored: %v", err)
	}
	if _, err := Restore(t.Context(), bytes.NewReader(file), Options{Root: root}); err != nil {
		t.Fatal(err)
	}
	wantRestored(t, root, from)
}

// TestALeftStore: a server removes the store of a restore that ended before it replaced anything, also if that of an
// earlier version removed the rest. The store of a committed restore stays, also if a further restore was killed.
func TestALeftStore(t *testing.T) {
	for name, test := range map[string]struct {
		had  []string // files of the root
		want error
		left bool
	}{
		"killed":                     {had: []string{"secret.key", partial + "/x"}},
		"killed, and cleared before": {had: []string{"secret.key"}},
		"given up for a new cluster": {},
		"killed in a new root":       {had: []string{partial + "/x"}, want: ErrInterrupted, left: true},
		"committed":                  {had: []string{"secret.key", ready + "/" + planFile}, left: true},
		"committed, another killed":  {had: []string{"secret.key", partial + "/x", ready + "/" + planFile}, left: true},
	} {
		root, data := t.TempDir(), t.TempDir()
		store := filepath.Join(data, member)
		for _, path := range append(test.had, "some") {
			path = filepath.Join(root, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600),
				os.MkdirAll(filepath.Join(store, "member"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		if err := CheckRoot(root, data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if _, err := os.Stat(store); (err == nil) != test.left {
			t.Errorf("%s: the store: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(root, partial)); err == nil && test.want == nil {
			t.Errorf("%s: %s is left", name, partial)
		}
	}
}

// TestAFullDisk: wherever the room ends, nothing of the root has changed, and nothing is left.
func TestAFullDisk(t *testing.T) {
	from, root := newSource(t), filepath.Join(t.TempDir(), "root")
	file := from.file(t)
	if _, err := Restore(t.Context(), bytes.NewReader(file), Options{Root: root}); err != nil {
		t.Fatal(err)
	}
	before := tree(t, root)
	for reason, limit := range map[string]string{"of the key": "100", "of the snapshot": "20000", "of the store": "100000",
		"of its log": "1000000"} {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), childRoot+"="+root, childLimit+"="+limit)
		command.Stdin = bytes.NewReader(file)
		out, err := command.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("nothing was changed")) ||
			!bytes.Contains(out, []byte("file too large")) {
			t.Errorf("at the writing %s: %v: %s", reason, err, out)
		}
		if diff := cmp.Diff(before, tree(t, root)); diff != "" {
			t.Errorf("at the writing %s (-before +after):\n%s", reason, diff)
		}
	}
}

// TestCrashBetweenTheMoves: once a restore is committed, it ends as if nothing had been, wherever it was interrupted.
func TestCrashBetweenTheMoves(t *testing.T) {
	from, other := newSource(t), newSource(t)
	moves := []string{"secret.key", "token", "node", "state/member", "clusters/" + cluster}
	for done := 0; done <= 2*len(moves); done++ {
		root := filepath.Join(t.TempDir(), "root")
		if _, err := Restore(t.Context(), bytes.NewReader(other.file(t)), Options{Root: root}); err != nil {
			t.Fatal(err)
		}
		o, err := Options{Root: root, Force: true}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		site, err := claim(o)
		if err != nil {
			t.Fatal(err)
		}
		report, err := o.stage(t.Context(), bytes.NewReader(from.file(t)))
		if err != nil {
			t.Fatal(err)
		}
		aside := filepath.Join(root, replaced, o.Now.UTC().Format("20060102T150405Z"))
		if _, err := o.commit(report.Manifest); err != nil {
			t.Fatal(err)
		}
		site.committed = true
		if err := site.release(); err != nil {
			t.Fatal(err)
		}
		for i := range done { // the state that the killed server, or restore, left
			move, from, to := moves[i/2], filepath.Join(root, moves[i/2]), filepath.Join(aside, moves[i/2])
			if i%2 == 1 {
				from, to = staged(root, move), filepath.Join(root, move)
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.Rename(from, to)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // a server starts twice
			if err := errors.Join(CheckRoot(root, filepath.Join(root, "state")),
				Finish(root, slog.New(slog.DiscardHandler))); err != nil {
				t.Fatalf("after %d moves: %v", done, err)
			}
		}
		wantRestored(t, root, from)
		if old, err := os.ReadFile(filepath.Join(aside, "secret.key")); err != nil || !bytes.Equal(old, other.key) {
			t.Errorf("after %d moves: the key that was there is gone: %v", done, err)
		}
	}
}

// staged returns the path of a staged part.
func staged(root, name string) string {
	switch name {
	case "state/member":
		return filepath.Join(root, "state", member, "member")
	case "clusters/" + cluster:
		return filepath.Join(root, ready, name)
	}
	return filepath.Join(root, ready, "root", name)
}
