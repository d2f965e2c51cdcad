package etcd_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/etcd/etcdtest"
)

// TestSnapshotOfAnExternalEtcd: it has the keys of one cluster at one revision, without those of leases, and becomes a
// member's store.
func TestSnapshotOfAnExternalEtcd(t *testing.T) {
	t.Parallel()
	shared := etcdtest.Start(t, etcdtest.Options{})
	s, other := connect(t, reach(shared, "/a/")), connect(t, reach(shared, "/a/b/"))
	want := map[string]store.Entry{}
	for i := range 400 { // three keys a commit: several pages, several keys of one revision
		var ops []store.Op
		for j := range 3 {
			ops = append(ops, store.Op{Key: fmt.Sprintf("/k/%d/%03d", j, i%300), Value: fmt.Appendf(nil, "%d", i)})
		}
		commit(t, s, ops...)
	}
	lease, err := s.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, store.Op{Key: "/leased", Lease: lease})
	commit(t, s, store.Op{Key: "/k/0/000", Delete: true})
	commit(t, other, put("/k", nil))
	page, err := s.List(t.Context(), "/k/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range page.Entries {
		want[entry.Key] = entry
	}
	path := filepath.Join(t.TempDir(), "snapshot.db")
	asked := 0
	room := func() error {
		if asked++; asked == 1 {
			return nil
		}
		// after its revision
		_, err := s.Commit(t.Context(), store.Txn{Site: "test", Do: []store.Op{put(fmt.Sprintf("/k/2/%03d", asked), nil)}})
		return err
	}
	if err := errors.Join(s.SnapshotTo(t.Context(), path, room), etcd.CheckSnapshot(t.Context(), path)); err != nil {
		t.Fatal(err)
	}
	entries, revision, err := etcd.ReadSnapshot(path)
	if err != nil || revision != page.Revision || asked < 2 {
		t.Errorf("revision %d, %v; want %d", revision, err, page.Revision)
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("(-listed +snapshot):\n%s", diff)
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := etcd.Restore(path, dir, "tend-0", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	restored := open(t, etcd.Options{DataDir: dir, MinFree: -1})
	got, err := restored.List(t.Context(), "", store.ListOptions{})
	if err != nil || len(got.Entries) != len(want) || got.Revision < page.Revision {
		t.Fatalf("%d entries at %d, %v; want %d", len(got.Entries), got.Revision, err, len(want))
	}
	for _, entry := range got.Entries {
		if diff := cmp.Diff(want[entry.Key], entry); diff != "" {
			t.Errorf("%s (-external +restored):\n%s", entry.Key, diff)
		}
	}
	commit(t, restored, put("/k/0/001", nil))
}

// TestASnapshotNeedsRoom: its error is the one that ends it.
func TestASnapshotNeedsRoom(t *testing.T) {
	t.Parallel()
	s, full := connect(t, reach(etcdtest.Start(t, etcdtest.Options{}), "")), errors.New("full")
	if err := s.SnapshotTo(t.Context(), filepath.Join(t.TempDir(), "s"),
		func() error { return full }); !errors.Is(err, full) {
		t.Errorf("%v; want %v", err, full)
	}
}
