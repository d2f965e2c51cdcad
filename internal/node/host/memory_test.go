//go:build linux

package host

import (
	"os"
	"path/filepath"
	"testing"
)

// The folder is in memory and private to its user. A folder in which another user could have set a trap is refused.
func TestMemoryFolder(t *testing.T) {
	folder, err := memoryFolder("c0ffee", "n1", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(filepath.Dir(folder))) })
	if !inMemory(folder) {
		t.Errorf("%s lies on a disk", folder)
	}
	if again, err := memoryFolder("c0ffee", "n1", false); err != nil || again != folder {
		t.Errorf("the next server finds %s, %v", again, err)
	}
	if other, err := memoryFolder("c0ffee", "n2", false); err != nil || other == folder {
		t.Errorf("another node of the cluster has %s too, %v", other, err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	base := filepath.Join(t.TempDir(), "tend")
	if err := os.Symlink(t.TempDir(), base); err != nil {
		t.Fatal(err)
	}
	if err := makePrivate(base, "c0ffee"); err == nil {
		t.Error("a link was followed")
	}
	open := filepath.Join(t.TempDir(), "tend")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := makePrivate(open, "c0ffee"); err == nil {
		t.Error("every user may write to it")
	}
}
