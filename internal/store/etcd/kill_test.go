package etcd_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

func TestKilledInTheMiddleOfCommits(t *testing.T) {
	t.Parallel()
	dir, tmp := longDir(t), t.TempDir()
	acknowledged := map[string]bool{}
	for _, after := range []int{1, 120, 333} { // each run continues with the files of the last one
		p := start(t, "commit", dir, "TMPDIR="+tmp)
		for range after {
			if !p.lines.Scan() {
				t.Fatalf("the child ended: %v", p.lines.Err())
			}
			acknowledged[p.lines.Text()] = true
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, name := range p.rest() { // everything that it printed before it died counts
			acknowledged[name] = true
		}
		_ = p.Wait() // killed
		mustHaveSockets(t, dir)
		mustHoldAll(t, dir, acknowledged)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left outside of the data dir: %v, %v", left, err)
	}
}

// mustHoldAll opens the files of a killed process: every acknowledged pair is in the store, and no half of one.
func mustHoldAll(t *testing.T, dir string, acknowledged map[string]bool) {
	t.Helper()
	s := open(t, etcd.Options{DataDir: dir})
	a, b := values(t, s, "/a/"), values(t, s, "/b/")
	for name := range acknowledged {
		if a[name] != name {
			t.Errorf("%s was acknowledged and is gone", name)
		}
	}
	for name := range b {
		if _, both := a[name]; !both {
			t.Errorf("%s is torn", name)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d and %d halves", len(a), len(b))
	}
	t.Logf("%d acknowledged, %d there", len(acknowledged), len(a))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func values(t *testing.T, s store.Store, prefix string) map[string]string {
	t.Helper()
	page, err := s.List(context.Background(), prefix, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range page.Entries {
		all[strings.TrimPrefix(e.Key, prefix)] = string(e.Value)
	}
	return all
}

// A process that was killed leaves its sockets, and its lock file with its number.
func TestWhatADeadProcessLeftIsNoObstacle(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	p := start(t, "idle", dir)
	if !p.lines.Scan() || p.lines.Text() != "ready" {
		t.Fatalf("the child said %q", p.lines.Text())
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // killed
	mustHaveSockets(t, dir)
	commit(t, open(t, etcd.Options{DataDir: dir}), put("/a", nil))
}
