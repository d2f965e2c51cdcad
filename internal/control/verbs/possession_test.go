package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestADigestIsNoKey: a file of another scope, or a source tree, is there for nobody who only knows its digest.
func TestADigestIsNoKey(t *testing.T) {
	names := func(scope string, of string) api.Object {
		spec, _ := json.Marshal(map[string]any{"files": map[string]any{
			"a": map[string]any{"_source": "file", "digest": digest(of)}}})
		return api.Object{Kind: api.KindAsset, Scope: scope, Name: "thief", Spec: spec}
	}
	for of, want := range map[string]struct{ person, sync bool }{
		"of the bank": {person: false, sync: true}, // the sync has the scope
		"nowhere":     {}, "for all": {true, true}, "sent": {person: true},
	} {
		w, s := newAssetWorld(t)
		for _, text := range []string{"of the bank", "for all", "sent"} {
			s.files[digest(text)] = true
		}
		w.mustApply(names("bank", "of the bank"), names(api.Unscoped, "for all"))
		ctx := WithSent(WithRights(t.Context(), source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}}),
			func(of string) bool { return of == digest("sent") })
		opts := w.asSync(plainSync)
		_, err := w.service.Apply(ctx, []api.Object{names("prod", of)}, ApplyOptions{})
		if (err == nil) != want.person {
			t.Errorf("%s, a person: %v", of, err)
		}
		if err != nil {
			wantReason(t, err, Invalid)
		}
		if _, err := w.apply(opts, names("shop", of)); (err == nil) != want.sync {
			t.Errorf("%s, a sync: %v", of, err)
		}
		_, err = w.service.Apply(ctx, []api.Object{built("b", digest(of))}, ApplyOptions{})
		if (err == nil) != want.person {
			t.Errorf("%s, as a source: %v", of, err)
		}
		if _, err := w.service.Apply(t.Context(), []api.Object{names("prod", of)}, ApplyOptions{}); (err == nil) !=
			slices.Contains([]string{"of the bank", "for all", "sent"}, of) {
			t.Errorf("%s, an admin: %v", of, err)
		}
	}
}

// counting counts the snapshots that are taken, and the scans over all releases in them.
type counting struct {
	Reader
	snapshots, scans int
}

func (c *counting) Fresh(ctx context.Context) (records.Snapshot, error) {
	c.snapshots++
	snap, err := c.Reader.Fresh(ctx)
	return records.Snapshot{Reader: countingScans{snap.Reader, &c.scans}}, err
}

type countingScans struct {
	records.Reader
	scans *int
}

func (c countingScans) Prefix(prefix string) iter.Seq[view.Record] {
	if prefix == records.ReleasesPrefix {
		*c.scans++
	}
	return c.Reader.Prefix(prefix)
}

// TestDigestsAreLookedUpAtOnce: an apply reads the store once for all of its digests, and not at all for those whose
// bytes its sender sent.
func TestDigestsAreLookedUpAtOnce(t *testing.T) {
	const many = 300
	cost := func(of string, dry, sent bool) (snapshots, scans int) {
		w, s := newAssetWorld(t)
		files := func(scope, of string) api.Object {
			all := map[string]any{}
			for i := range many {
				all[fmt.Sprint("f", i)] = map[string]any{"_source": "file", "digest": digest(fmt.Sprint(of, i))}
				s.files[digest(fmt.Sprint("for all", i))] = true
			}
			spec, _ := json.Marshal(map[string]any{"files": all})
			return api.Object{Kind: api.KindAsset, Scope: scope, Name: "many", Spec: spec}
		}
		w.mustApply(files(api.Unscoped, "for all"))
		objects := []api.Object{files("prod", of)}
		for i := range 10 {
			objects = append(objects, built(fmt.Sprint("b", i), digest(fmt.Sprint(of, i))))
		}
		opts := w.service.opts
		reader := &counting{Reader: opts.Reader}
		opts.Reader = reader
		ctx := WithSent(WithRights(t.Context(), source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}}),
			func(string) bool { return sent })
		if _, err := New(opts).Apply(ctx, objects, ApplyOptions{DryRun: dry}); err != nil {
			t.Fatal(err)
		}
		return reader.snapshots, reader.scans
	}
	for of, dry := range map[string]bool{"unknown": true, "for all": false} {
		snapshots, scans := cost(of, dry, false)
		lessSnapshots, lessScans := cost(of, dry, true)
		if snapshots-lessSnapshots != 1 || scans-lessScans != 1 {
			t.Errorf("%s: %d snapshots and %d scans for the digests, want one of each", of, snapshots-lessSnapshots,
				scans-lessScans)
		}
	}
}
