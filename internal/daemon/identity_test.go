package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
)

func TestRememberedKeepsTheFirstAnswer(t *testing.T) {
	root := t.TempDir()
	for _, step := range []struct {
		reason, asked, fallback, want string
		refused                       bool
	}{
		{reason: "nothing asked: the fallback", fallback: "host-a", want: "host-a"},
		{reason: "a renamed host keeps its node", fallback: "host-b", want: "host-a"},
		{reason: "asking for the same is fine", asked: "host-a", want: "host-a"},
		{reason: "another one would orphan what runs", asked: "host-c", refused: true},
	} {
		got, err := remembered(root, "node", step.asked, step.fallback)
		if (err != nil) != step.refused || got != step.want {
			t.Errorf("%s: %q, %v", step.reason, got, err)
		}
	}
}

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
	if _, err := layout.NewTxn("test").Put(layout.SchemaKey, "99").Commit(ctx, s); err != nil {
		t.Fatal(err)
	}
	if err := checkSchema(ctx, s); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("%v; want a refusal that names the schema", err)
	}
}

// TestAnInheritedClaimSaysSo: where the disk was too full for a claim of its own, a server holds that of the process before,
// whose own last claim may still arrive.
func TestAnInheritedClaimSaysSo(t *testing.T) {
	ctx, s := context.Background(), memory.New()
	defer s.Close()
	if _, err := takeOver(ctx, s); err != nil {
		t.Fatal(err)
	}
	f, err := inherit(ctx, s, store.ErrNoSpace)
	if err != nil {
		t.Fatal(err)
	}
	put := store.Txn{Site: "test", Do: []store.Op{{Key: "/a", Value: []byte("1")}}}
	if _, err := f.Commit(ctx, put); err != nil {
		t.Fatalf("with the inherited claim: %v", err)
	}
	if _, err := takeOver(ctx, s); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(ctx, put); !errors.Is(err, errDeposed) {
		t.Errorf("after a claim came: %v", err)
	}
	if err := f.watch(ctx); !errors.Is(err, errDeposed) || !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("%v; want both causes", err)
	}
}

func TestDeposedServerWritesNothing(t *testing.T) {
	ctx, s := context.Background(), memory.New()
	defer s.Close()
	old, err := takeOver(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	put := store.Txn{Site: "test", Do: []store.Op{{Key: "/a", Value: []byte("1")}}}
	if _, err := old.Commit(ctx, put); err != nil {
		t.Fatalf("while it holds the controllers: %v", err)
	}
	if _, err := takeOver(ctx, s); err != nil {
		t.Fatal(err)
	}
	put.Do[0].Value = []byte("2")
	if _, err := old.Commit(ctx, put); !errors.Is(err, errDeposed) {
		t.Errorf("after the take-over: %v", err)
	}
	if got, _ := s.Get(ctx, "/a"); string(got.Value) != "1" {
		t.Errorf("/a = %s", got.Value)
	}
	if err := old.watch(ctx); !errors.Is(err, errDeposed) {
		t.Errorf("the deposed server goes on: %v", err)
	}
}
