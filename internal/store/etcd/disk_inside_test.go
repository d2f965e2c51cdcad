package etcd

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// The error of a member that can't be opened for lack of space names the next step; other errors aren't mistaken for
// it.
func TestAStoreThatFindsNoSpaceNamesItsCure(t *testing.T) {
	d := disk{Options{DataDir: t.TempDir()}}
	if err := os.WriteFile(d.ballast(), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := d.cure(errors.New("etcd gave up: failed to commit tx: write db: " + syscall.ENOSPC.Error()))
	for _, want := range []string{d.opts.DataDir + " is full", "rm " + d.ballast(), "start again", "containers keep running"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	if said := d.cure(errors.New("panic: freepages: failed to get all reachable pages")); said != "" {
		t.Errorf("a damaged database: %q", said)
	}
}
