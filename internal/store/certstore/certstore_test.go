package certstore

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
)

// mirror is a sealer whose work can be seen: it turns bytes round.
type mirror struct{}

func (mirror) Encrypt(plain []byte) ([]byte, error) {
	out := slices.Clone(plain)
	slices.Reverse(out)
	return out, nil
}

func (m mirror) Decrypt(sealed []byte) ([]byte, error) { return m.Encrypt(sealed) }

func newStorage(t *testing.T) (*Storage, store.Store) {
	t.Helper()
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return New(s, mirror{}), s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	ctx := t.Context()
	s, below := newStorage(t)
	if _, err := s.Load(ctx, "acme/a.key"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := s.List(ctx, "acme", true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	for _, key := range []string{"acme/sites/a/a.key", "acme/sites/a/a.crt", "acme/sites/b/b.key", "acme/account"} {
		must(t, s.Store(ctx, key, []byte("secret of "+key)))
	}
	if got, err := s.Load(ctx, "/acme/account"); err != nil || string(got) != "secret of acme/account" {
		t.Errorf("%q %v", got, err)
	}
	page, err := below.List(ctx, "", store.ListOptions{})
	must(t, err)
	for _, entry := range page.Entries {
		if bytes.Contains(entry.Value, []byte("secret")) {
			t.Errorf("%s lies in the clear", entry.Key)
		}
	}
	for _, test := range []struct {
		folder    string
		recursive bool
		want      []string
	}{
		{"acme", false, []string{"acme/account", "acme/sites"}},
		{"acme/sites", false, []string{"acme/sites/a", "acme/sites/b"}},
		{"acme/sites/a", true, []string{"acme/sites/a/a.crt", "acme/sites/a/a.key"}},
		{"", false, []string{"acme"}},
	} {
		if got, err := s.List(ctx, test.folder, test.recursive); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: %v %v, want %v", test.folder, got, err, test.want)
		}
	}
	if info, err := s.Stat(ctx, "acme/account"); err != nil || !info.IsTerminal ||
		info.Size != int64(len("secret of acme/account")) {
		t.Errorf("%+v %v", info, err)
	}
	if info, err := s.Stat(ctx, "acme/sites"); err != nil || info.IsTerminal {
		t.Errorf("a folder: %+v %v", info, err)
	}
	must(t, s.Delete(ctx, "acme/sites/a"))
	if s.Exists(ctx, "acme/sites/a/a.key") || s.Exists(ctx, "acme/sites/a") || !s.Exists(ctx, "acme/sites/b") {
		t.Error("a folder goes with its files, and with nothing else")
	}
	must(t, s.Delete(ctx, "acme/sites/a"))
}

// TestLocks: of many, one at a time, in one process and over two.
func TestLocks(t *testing.T) {
	a, below := newStorage(t)
	b := New(below, mirror{})
	var inside, most atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		s := a
		if i%2 == 1 {
			s = b
		}
		all.Go(func() {
			if err := s.Lock(t.Context(), "cert a.org"); err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), inside.Add(1)))
			inside.Add(-1)
			if err := s.Unlock(t.Context(), "cert a.org"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held one lock at once", most.Load())
	}
	if err := a.Unlock(t.Context(), "cert a.org"); err == nil {
		t.Error("what isn't held was unlocked")
	}
}

func TestWaitingForALockIsBounded(t *testing.T) {
	s, below := newStorage(t)
	must(t, s.Lock(t.Context(), "x"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := New(below, mirror{}).Lock(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	must(t, s.Lock(t.Context(), "y")) // another name is free
	must(t, s.Unlock(t.Context(), "x"))
	must(t, s.Lock(t.Context(), "x"))
}

// TestAFolderOfMany goes whole: more certificates than one commit may delete.
func TestAFolderOfMany(t *testing.T) {
	ctx := t.Context()
	s, below := newStorage(t)
	txn := store.Txn{}
	for n := range store.MaxOps {
		txn.Do = append(txn.Do, store.Op{Key: filesPrefix + "sites/" + strconv.Itoa(n) + ".crt", Value: []byte("{}")})
	}
	if _, err := below.Commit(ctx, txn); err != nil {
		t.Fatal(err)
	}
	must(t, s.Store(ctx, "sites/one/more.crt", []byte("x")))
	must(t, s.Delete(ctx, "sites"))
	if page, err := below.List(ctx, filesPrefix, store.ListOptions{}); err != nil || len(page.Entries) > 0 {
		t.Errorf("%d are left: %v", len(page.Entries), err)
	}
}
