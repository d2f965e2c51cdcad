//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestFullDisk: writes are refused with a clear error, and so is a source that doesn't fit. Reads and containers
// continue, and everything is accepted again when there is room.
func TestFullDisk(t *testing.T) {
	const size, keep = "320m", 64 << 20
	m := newMachine(t, "--min-free-disk", "67108864")
	if err := syscall.Mount("tmpfs", m.root, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	m.afterwards(func() {
		if err := syscall.Unmount(m.root, 0); err != nil {
			t.Error(err)
		}
	})
	m.start()
	m.deploy(m.manifest("app", replicas(2)))
	before := m.containers("app")
	filler := filepath.Join(m.root, "filler")
	fill(t, filler, keep/2)
	var err error
	m.until("writes are refused", func() bool {
		more := m.manifest("more", env(map[string]string{"TRY": random()})) // each is a write
		_, err = m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{more}})
		return err != nil
	})
	if client.StatusOf(err) != 507 && client.StatusOf(err) != 503 || !strings.Contains(err.Error(), "MiB free") {
		t.Errorf("%d %v, want a refusal that names the disk", client.StatusOf(err), err)
	}
	t.Log(err)
	if len(m.pods("app")) != 2 || len(m.running("app")) != 2 || !contains(before, m.containers("app")) {
		t.Errorf("a full disk changed what runs: %v", m.running("app"))
	}
	m.wantSaid(m.tend("get", "deployments"), 0, "app")
	m.saysFull()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	m.until("writes are taken again", func() bool {
		_, err := m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{m.manifest("more")}})
		return err == nil
	})
	m.converged("more", 0)
	m.sourceDoesNotFit(filler, keep+16<<20)
	// A restart on a full disk serves reads.
	fill(t, filler, keep/2)
	m.terminate()
	m.launch("server")
	m.saysFull()
	m.wantSaid(m.tend("get", "deployments"), 0, "app", "more")
	m.until("the containers run on", func() bool { return len(m.running("app")) == 2 })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	m.until("the object can be deleted", func() bool {
		_, err := m.client.Delete(t.Context(), m.ref("more"))
		return err == nil
	})
	m.gone("more")
}

// sourceDoesNotFit sends a source of 40 MiB to a disk with less room: it is refused and leaves nothing behind, and with
// room it is built.
func (m *machine) sourceDoesNotFit(filler string, free int64) {
	m.Helper()
	s := m.source(strings.Replace(sourceManifest, `"app"`, `"built"`, 1))
	m.afterwards(func() { m.removeBuilt("built") })
	s.write("large", strings.Repeat(random(), 5<<20), 0o644)
	fill(m.T, filler, free)
	m.wantSaid(s.apply(), 1, "not enough disk space")
	if halves, _ := filepath.Glob(filepath.Join(m.root, "blobs", "*", ".half-*")); len(halves) > 0 {
		m.Errorf("left behind: %v", halves)
	}
	if err := os.Remove(filler); err != nil {
		m.Fatal(err)
	}
	m.wantSaid(s.apply(), 0, "1 of 1 replicas run v1")
	m.delete("built")
}

// saysFull: the server's health reports the full disk.
func (m *machine) saysFull() {
	m.Helper()
	m.until("readiness names the disk", func() bool {
		readiness, err := m.client.Readiness(m.Context())
		return err == nil && !readiness.Ready && len(readiness.Missing) == 1 &&
			strings.Contains(readiness.Missing[0], "MiB free")
	})
	m.wantSaid(m.tend("nodes"), 0, "DiskFull", "MiB free", "Next: free disk space")
	nodes, err := m.client.Nodes(m.Context())
	if err != nil || len(nodes.Items) != 1 {
		m.Fatal(nodes, err)
	}
	m.wantSaid(m.tend("describe", "node", nodes.Items[0].ID), 0, "DiskFull", "MiB free", "Next: free disk space")
}

// fill leaves so many bytes free beside a file.
func fill(t *testing.T, path string, free int64) {
	t.Helper()
	var stat syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &stat); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := syscall.Fallocate(int(file.Fd()), 0, 0, int64(stat.Bavail)*stat.Bsize-free); err != nil {
		t.Fatal(err)
	}
}
