package etcd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/store/etcd"
)

// A small database that was opened before takes no more memory than its pages: the kernel's list of mappings shows how
// much of the file is resident.
func TestARestartMapsOnlyWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "member", "snap", "db")
	const rounds = 3
	for round := range rounds {
		s := open(t, etcd.Options{DataDir: dir})
		if kB := residentOf(t, path); kB > 4096 {
			t.Errorf("start %d has %d kB of its database in memory, which holds %d values of 100 kB", round, kB, 4*round)
		}
		for i := range 4 {
			commit(t, s, put(fmt.Sprintf("/%d/%d", round, i), make([]byte, 100_000)))
		}
		for earlier := range round + 1 {
			kept, err := s.Get(context.Background(), fmt.Sprintf("/%d/3", earlier))
			if err != nil || len(kept.Value) != 100_000 {
				t.Errorf("start %d reads %d bytes of what start %d wrote: %v", round, len(kept.Value), earlier, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// residentOf returns the resident size of a mapped file in this process, in kB.
func residentOf(t *testing.T, path string) (kB int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	mapped := false
	for _, mapping := range strings.Split(string(text), "\nVmFlags:") {
		if !strings.Contains(mapping, path+"\n") {
			continue
		}
		mapped = true
		for line := range strings.Lines(mapping) {
			if rest, ok := strings.CutPrefix(line, "Rss:"); ok {
				var here int
				if _, err := fmt.Sscan(rest, &here); err != nil {
					t.Fatal(err)
				}
				kB += here
			}
		}
	}
	if !mapped {
		t.Fatalf("%s is not mapped", path)
	}
	return kB
}
