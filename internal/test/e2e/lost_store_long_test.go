//go:build integration && long

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStoreDiskNotMounted: a server that finds an empty folder where its store should be deletes nothing that the
// running containers mount, and finds all of it when the disk is back.
func TestStoreDiskNotMounted(t *testing.T) {
	disk := t.TempDir()
	data := filepath.Join(disk, "state")
	m := newMachine(t, "--data", data, "--log-level", "debug").start()
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `main = "one"`)), 0)
	m.deploy(m.manifest("app", mounts("conf.main")))
	m.age(filepath.Join(m.root, "blobs"), 48*time.Hour)
	before := m.running("app")
	m.terminate()

	if err := os.Rename(data, filepath.Join(disk, "mounted elsewhere")); err != nil {
		t.Fatal(err)
	}
	m.start()
	m.until("the server has collected", func() bool { return strings.Contains(m.output.String(), "collected files") })
	for id := range before {
		for _, mount := range m.mountsOf(id) {
			if content, err := os.ReadFile(mount.Source); err != nil || string(content) != "one" {
				t.Errorf("%s, which a running container mounts: %q, %v", mount.Source, content, err)
			}
		}
		m.engine("restart", "--time", "0", id).must() // the engine mounts by path
		if got := m.reads(id, mounted); got != "one" {
			t.Errorf("after a restart the container reads %q", got)
		}
	}
	m.terminate()

	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(disk, "mounted elsewhere"), data); err != nil {
		t.Fatal(err)
	}
	m.start()
	m.converged("app", 0)
	for id := range m.running("app") {
		if _, same := before[id]; !same {
			t.Errorf("container %s is new: the old one was given up", id)
		}
	}
}
