package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

func TestIdentityIsFoundedOnceAndBoundToItsKey(t *testing.T) {
	ctx, root, s := context.Background(), t.TempDir(), memory.New()
	defer s.Close()
	first, _, err := identify(ctx, s, root)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := identify(ctx, s, root)
	if err != nil || again != first {
		t.Errorf("%+v, %v; want %+v", again, err, first)
	}
	if err := os.Remove(filepath.Join(root, "secret.key")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := identify(ctx, s, root); err == nil || !strings.Contains(err.Error(), "secret.key") {
		t.Errorf("a lost key: %v; want an error that names the file", err)
	}
}

func TestStoreOfANewerTendIsRefused(t *testing.T) {
	ctx, s := context.Background(), memory.New()
	defer s.Close()
	if err := checkSchema(ctx, s); err != nil {
		t.Errorf("an empty store: %v", err)
	}
	if _, err := records.NewTxn("test").Put(records.SchemaKey, "99").Commit(ctx, s); err != nil {
		t.Fatal(err)
	}
	if err := checkSchema(ctx, s); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("%v; want a refusal that names the schema", err)
	}
}
