package broker_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestListHidesCredentials: a user who may list plugins must not learn the password of a plugin's repository.
func TestListHidesCredentials(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/bin/info": "echo hi"})
	installed := `{"source":"https://me:s3cr3t@host/kv"}`
	if err := os.WriteFile(filepath.Join(w.dir, "kv", ".tend-plugin.json"), []byte(installed), 0o600); err != nil {
		t.Fatal(err)
	}
	plugins, err := w.broker.List()
	if err != nil || len(plugins) != 1 || plugins[0].Source != "https://xxxxx@host/kv" {
		t.Errorf("%+v, %v", plugins, err)
	}
}
