package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSharedSecretFiles: a passphrase that others may read brings a warning with what to do, a private one none.
func TestSharedSecretFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(path, []byte("a phrase\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{
		0o600: "", 0o400: "", 0o644: "warning: others may read " + path + " (mode 0644): chmod 600 " + path + "\n",
		0o640: "warning: others may read " + path + " (mode 0640): chmod 600 " + path + "\n",
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		a := &app{streams: streams{err: &said}}
		phrase, err := a.passphraseIn(path)
		if err != nil || phrase != "a phrase" || said.String() != want {
			t.Errorf("%#o: %q, %v, and it says %q, want %q", mode, phrase, err, said.String(), want)
		}
	}
}
