package daemon

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
)

// turning is a store that writes the name of its keys as its copy. Before each copy a rotation begins, and after it
// that rotation ends.
type turning struct {
	store.Store
	secrets string
	keys    []string
}

func (r *turning) SizeBytes() int64 { return 0 }

// Snapshot implements snapshotter.
func (r *turning) Snapshot(_ context.Context, w io.Writer) error {
	had, err := os.ReadFile(r.secrets)
	if err != nil {
		return err
	}
	if _, err := w.Write(had); err != nil || len(r.keys) == 0 {
		return err
	}
	next := r.keys[0]
	r.keys = r.keys[1:]
	return os.WriteFile(r.secrets, []byte(next), 0o600)
}

// TestTheKeysOfABackup: a backup holds the keys to the store that it holds, also if the keys are rotated meanwhile. If
// they are again and again, there is no backup.
func TestTheKeysOfABackup(t *testing.T) {
	for name, test := range map[string]struct {
		rotations []string
		want      string
	}{
		"no rotation":            {nil, "a"},
		"a rotation":             {[]string{"b"}, "b"},
		"rotations without end":  {[]string{"b", "c", "d", "e"}, ""},
		"two rotations, and end": {[]string{"b", "c"}, "c"},
	} {
		root, folder := t.TempDir(), t.TempDir()
		secrets := filepath.Join(root, "secret.key")
		if err := os.WriteFile(secrets, []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := &daemon{}
		d.Root, d.MinFree, d.Store = root, -1, &turning{secrets: secrets, keys: test.rotations}
		err := d.copyState(t.Context(), folder)
		if problem, _ := err.(*api.Problem); test.want == "" {
			if problem == nil || problem.Status != http.StatusConflict {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err := os.WriteFile(secrets, []byte("later"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"secret.key", snapshotFile} {
			text, unread := os.ReadFile(filepath.Join(folder, file))
			if err != nil || unread != nil || string(text) != test.want {
				t.Errorf("%s: %s of %q, want %q: %v, %v", name, file, text, test.want, err, unread)
			}
		}
	}
}
