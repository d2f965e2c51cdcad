package asset

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/blob"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/retention"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// pictureOf returns a snapshot of a store with these records.
func pictureOf(t *testing.T, records map[string]any) layout.Snapshot {
	t.Helper()
	db := memory.New()
	pictures := view.New(db, view.Options{Decode: layout.Decode, Indexes: layout.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = pictures.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = db.Close() })
	txn := layout.NewTxn("test")
	for _, key := range slices.Sorted(maps.Keys(records)) {
		txn.Put(key, records[key])
	}
	revision, err := txn.Commit(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if err := pictures.WaitFor(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	return layout.Snapshot{Reader: pictures.Snapshot()}
}

func stamped(ref api.Ref, stamp string, digests map[string]string) api.Object {
	text, _ := json.Marshal(digests)
	return api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Metadata: api.Metadata{Stamps: map[string]string{stamp: string(text)}}}
}

func TestReferenced(t *testing.T) {
	conf := api.Ref{Kind: api.KindAsset, Scope: "prod", Name: "conf"}
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	migrate := api.Ref{Kind: api.KindJob, Scope: "prod", Name: "migrate"}
	s := pictureOf(t, map[string]any{
		layout.ObjectKey(conf):           stamped(conf, api.StampFiles, map[string]string{"nginx": "of the asset", "other": "of its other file"}),
		layout.ObjectKey(web):            stamped(web, api.StampAssets, map[string]string{"prod.gone.x": "of a consumer"}),
		layout.ReleaseKey(web, "v1"):     api.Release{ID: "v1", AssetDigests: map[string]string{"prod.conf.nginx": "of an older release"}},
		layout.ReleaseKey(migrate, "v1"): api.Release{ID: "v1", AssetDigests: map[string]string{"prod.conf.nginx": "of a job's release"}},
	})
	want := []string{"of a consumer", "of a job's release", "of an older release", "of its other file", "of the asset"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(Referenced(s)))); diff != "" {
		t.Error(diff)
	}
}

func TestDue(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	old, young := now.Add(-61*time.Minute), now.Add(-time.Hour)
	ledger := retention.Open(t.TempDir(), "blobs", "a")
	for _, owned := range []string{"used and old", "old", "an upload whose apply is to come"} {
		if err := ledger.Claim(owned); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Due(owned, false, now.Add(-retention.Wait)); err != nil {
			t.Fatal(err)
		}
	}
	var faults []error
	got := NewLibrary(Options{Ledger: ledger}).due([]blob.Blob{
		{Digest: "used and old", At: old}, {Digest: "old", At: old}, {Digest: "an upload whose apply is to come", At: young},
		{Digest: "of another store", At: old},
	}, map[string]bool{"used and old": true}, now, &faults)
	if diff := cmp.Diff([]blob.Blob{{Digest: "old", At: old}}, got); diff != "" || len(faults) > 0 {
		t.Error(diff, faults)
	}
}

func TestCollect(t *testing.T) {
	s := newSite(t)
	s.want("one")
	conf := api.Ref{Kind: api.KindAsset, Scope: "prod", Name: "conf"}
	inUse := pictureOf(t, map[string]any{
		layout.ObjectKey(conf): stamped(conf, api.StampFiles, map[string]string{"a": blob.Digest([]byte("one"))}),
	})
	nobody := pictureOf(t, map[string]any{layout.SchemaKey: "1"})
	later := time.Now().Add(2 * time.Hour)
	if err := os.WriteFile(filepath.Join(s.root, "blobs", "sha256", ".half-1"), []byte("of a server that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		reason  string
		at      time.Time
		picture layout.Snapshot
		left    int
	}{
		{"referred to; what is half written goes", later, inUse, 2},
		{"young", time.Now(), nobody, 2},
		{"old, and nobody refers to it: it waits in quarantine", later, nobody, 2},
		{"still waiting", later.Add(retention.Wait - time.Minute), nobody, 2},
		{"referred to again", later.Add(retention.Wait), inUse, 2},
		{"waits again", later.Add(retention.Wait + time.Minute), nobody, 2},
		{"a day later", later.Add(2*retention.Wait + time.Minute), nobody, 0},
	} {
		s.library.opts.Now = func() time.Time { return step.at }
		if err := s.library.Collect(t.Context(), step.picture); err != nil {
			t.Fatal(err)
		}
		if left := tree(t, s.root); len(left) != step.left {
			t.Errorf("%s: left are %v, want the blob and what is remembered of its URL: %d", step.reason, left, step.left)
		}
	}
	s.want("one") // what was forgotten is asked for in full
}

func TestRunCollectsAtBootAndEveryHour(t *testing.T) {
	s := newSite(t)
	picture := pictureOf(t, map[string]any{layout.SchemaKey: "1"})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		synced, looks := make(chan struct{}), 0
		done := make(chan error, 1)
		go func() {
			done <- s.library.Run(ctx, synced, func() layout.Snapshot { looks++; return picture })
		}()
		synctest.Wait()
		if looks != 0 {
			t.Error("it collected before the picture was complete")
		}
		close(synced)
		synctest.Wait()
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		if looks != 3 {
			t.Errorf("%d looks in two hours", looks)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
