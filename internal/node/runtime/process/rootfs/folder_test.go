package rootfs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestALinkPutInAFilesPlace: a link to the outside that replaced a listed file is not followed.
func TestALinkPutInAFilesPlace(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	at := filepath.Join(dir, "file")
	for _, name := range []string{secret, at} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := walk(t.Context(), dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v %v", entries, err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, at); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := readEntry(dir, entries[0], &got); err == nil || got.Len() > 0 {
		t.Errorf("%q was read through the link", got.String())
	}
}
