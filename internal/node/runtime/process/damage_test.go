//go:build linux

package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/runtime"
)

// TestDamagedEntries: unreadable entries don't keep the runtime from opening, and from finding every container.
func TestDamagedEntries(t *testing.T) {
	b := newBench(t)
	long := []string{"/bin/sh", "-c", "exec sleep 1000"}
	record, status := b.run(spec("record", long...)), b.run(spec("status", long...))
	at := func(name string) string { return filepath.Join(b.rt.dir, name) }
	stray := []string{at("empty"), at("file"), at(strings.Repeat("0", idLength))}
	err := errors.Join(
		os.Truncate(filepath.Join(b.rt.dir, record.ID, "record.json"), 10), os.Truncate(filepath.Join(b.rt.dir, status.ID, "status.json"), 10),
		os.Mkdir(stray[0], 0o700), os.WriteFile(stray[1], nil, 0o600), os.Mkdir(stray[2], 0o700),
		os.WriteFile(filepath.Join(stray[2], "record.json"), []byte("{"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	b.reopen()
	listed, err := b.rt.List(t.Context())
	if err != nil || len(listed) != 2 {
		t.Fatalf("%+v, %v", listed, err)
	}
	for _, container := range listed {
		if container.State != runtime.StateRunning {
			t.Errorf("%s is %s", container.Name, container.State)
		}
	}
	info, err := b.rt.Info(t.Context())
	slices.Sort(stray)
	slices.Sort(info.Quarantined)
	if err != nil || !slices.Equal(stray, info.Quarantined) {
		t.Errorf("quarantined are %v, %v; want %v", info.Quarantined, err, stray)
	}
}
