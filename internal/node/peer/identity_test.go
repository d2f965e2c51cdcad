package peer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tend.dev/tend/internal/node/peer"
)

// TestIdentity: the certificate of a server is kept, issued again when a third of its life is left or when it doesn't
// fit, and its files are their owner's alone. Another server with the same authority gets one of its own.
func TestIdentity(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	clock := func() time.Time { return now }
	read := func(path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	open := func(folder string) (i *peer.Identity, certificate []byte) {
		t.Helper()
		i, err := peer.Open(folder, clock)
		if err != nil {
			t.Fatal(err)
		}
		path, _, _ := i.Files()
		return i, read(path)
	}
	first, certificate := open(folder)
	if _, again := open(folder); !bytes.Equal(again, certificate) {
		t.Error("another certificate while the first one is good")
	}
	now = now.Add(61 * 24 * time.Hour)
	_, renewed := open(folder)
	if bytes.Equal(renewed, certificate) {
		t.Error("the same certificate with less than a third of its life left")
	}
	path, key, _ := first.Files()
	if err := os.WriteFile(key, []byte("cut"), 0o600); err != nil { // a crash between the two files
		t.Fatal(err)
	}
	if _, again := open(folder); bytes.Equal(again, renewed) {
		t.Errorf("%s doesn't fit its key and stays", path)
	}
	authority, err := first.Authority()
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "peers")
	if err := peer.Keep(other, authority); err != nil {
		t.Fatal(err)
	}
	joined, _ := open(other)
	_, _, here := first.Files()
	_, _, there := joined.Files()
	if !bytes.Equal(read(here), read(there)) {
		t.Error("a server that joined trusts another authority")
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
	if err := os.WriteFile(filepath.Join(other, "authority.pem"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Open(other, clock); err == nil {
		t.Error("a damaged authority is not noticed")
	}
}
