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

// TestFullDisk: writes are refused in plain words, reads and containers go on, and it ends when there is room again.
func TestFullDisk(t *testing.T) {
	const size, keep = "256m", 64 << 20
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

// saysFull: who asks how the server is hears of the full disk.
func (m *machine) saysFull() {
	m.Helper()
	m.until("readiness names the disk", func() bool {
		readiness, err := m.client.Readiness(m.Context())
		return err == nil && !readiness.Ready && len(readiness.Missing) == 1 && strings.Contains(readiness.Missing[0], "MiB free")
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
