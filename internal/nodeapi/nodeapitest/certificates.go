package nodeapitest

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
)

// certificates checks that there is one storage for all nodes, with locks that only one holds at a time.
func certificates(t *testing.T, here, there certmagic.Storage) {
	ctx := t.Context()
	if _, err := here.Load(ctx, "acme/a.key"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	if err := here.Store(ctx, "acme/a.key", []byte("key")); err != nil {
		t.Fatal(err)
	}
	if got, err := there.Load(ctx, "acme/a.key"); err != nil || string(got) != "key" {
		t.Errorf("%q %v", got, err)
	}
	if !there.Exists(ctx, "acme/a.key") || there.Exists(ctx, "acme/b.key") {
		t.Error("exists")
	}
	if got, err := there.List(ctx, "acme", true); err != nil || !slices.Equal(got, []string{"acme/a.key"}) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := there.Stat(ctx, "acme/a.key"); err != nil || got.Size != 3 || !got.IsTerminal || got.Modified.IsZero() {
		t.Errorf("%+v %v", got, err)
	}
	if err := there.Delete(ctx, "acme/a.key"); err != nil || here.Exists(ctx, "acme/a.key") {
		t.Errorf("deleted: %v", err)
	}
	if err := here.Lock(ctx, "issue a/b"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := there.Lock(short, "issue a/b"); err == nil {
		t.Error("two hold one lock")
	}
	if err := here.Unlock(ctx, "issue a/b"); err != nil {
		t.Fatal(err)
	}
	long, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := there.Lock(long, "issue a/b"); err != nil {
		t.Errorf("no server holds it any more: %v", err)
	}
	if err := errors.Join(there.Unlock(ctx, "issue a/b")); err != nil {
		t.Error(err)
	}
	if err := there.Unlock(ctx, "issue a/b"); err == nil {
		t.Error("what isn't held was unlocked")
	}
}
