package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tend.dev/tend/internal/store"
)

// model is the simple store the real one is compared with: a plain map for every revision.
type model struct {
	states  map[int64]map[string]store.Entry
	batches []store.Batch
	newest  int64
	oldest  int64
}

func (m *model) commit(txn store.Txn) (int64, bool) {
	now := m.states[m.newest]
	for _, c := range txn.If {
		if now[c.Key].Modified != c.Modified {
			return 0, false
		}
	}
	next, b := maps.Clone(now), store.Batch{Revision: m.newest + 1}
	for _, op := range txn.Do {
		old, exists := next[op.Key]
		switch {
		case op.Delete && exists:
			delete(next, op.Key)
			b.Events = append(b.Events, deleteEvent(op.Key, b.Revision))
		case !op.Delete:
			e := store.Entry{Key: op.Key, Value: op.Value, Created: b.Revision, Modified: b.Revision}
			if exists {
				e.Created = old.Created
			}
			next[op.Key] = e
			b.Events = append(b.Events, store.Event{Entry: e})
		}
	}
	if len(b.Events) > 0 {
		m.newest, m.states[b.Revision], m.batches = b.Revision, next, append(m.batches, b)
	}
	return m.newest, true
}

func (m *model) list(revision int64) []store.Entry {
	state := m.states[revision]
	var entries []store.Entry
	for _, key := range slices.Sorted(maps.Keys(state)) {
		entries = append(entries, state[key])
	}
	return entries
}

// history returns the batches that a watch from a revision must deliver.
func (m *model) history(from int64) []store.Batch {
	i := slices.IndexFunc(m.batches, func(b store.Batch) bool { return b.Revision >= from })
	if i < 0 {
		return nil
	}
	return m.batches[i:]
}

// behavesAsModel draws transactions, reads and compactions, and compares every answer. All draws share one store, each
// with its own prefix, because opening a real backend takes longer than a hundred draws.
func behavesAsModel(t *testing.T, s store.Store) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		start := mustCommit(t, s, put(fmt.Sprintf("/other/%d", run), ""))
		p := &pair{store: s, ctx: t.Context(), prefix: fmt.Sprintf("/run%d/", run)}
		p.model = &model{newest: start, oldest: start, states: map[int64]map[string]store.Entry{start: {}}}
		rt.Repeat(map[string]func(*rapid.T){"commit": p.commit, "list": p.list, "watch": p.watch, "compact": p.compact})
	})
}

// pair is the store and the model that must agree.
type pair struct {
	ctx    context.Context
	store  store.Store
	model  *model
	prefix string
}

func (p *pair) key(t *rapid.T) string {
	return p.prefix + rapid.SampledFrom([]string{"a", "b", "b/1", "b/2", "c", "d"}).Draw(t, "key")
}

func (p *pair) revision(t *rapid.T) int64 {
	return rapid.Int64Range(p.model.oldest, p.model.newest).Draw(t, "revision")
}

func (p *pair) commit(t *rapid.T) {
	var txn store.Txn
	for range rapid.IntRange(0, 3).Draw(t, "preconditions") {
		c := store.Condition{Key: p.key(t)}
		// Most preconditions hold, otherwise nothing would ever be written.
		switch rapid.IntRange(0, 5).Draw(t, "guess") {
		case 0:
		case 1:
			c.Modified = p.revision(t)
		default:
			c.Modified = p.model.states[p.model.newest][c.Key].Modified
		}
		txn.If = append(txn.If, c)
	}
	written := map[string]bool{}
	for i := range rapid.IntRange(0, 4).Draw(t, "operations") {
		op := store.Op{Key: p.key(t), Delete: rapid.IntRange(0, 3).Draw(t, "delete") == 0}
		if written[op.Key] {
			continue
		}
		if written[op.Key] = true; !op.Delete {
			op.Value = fmt.Appendf(nil, "%d.%d", p.model.newest, i)
		}
		txn.Do = append(txn.Do, op)
	}
	got, err := p.store.Commit(p.ctx, txn)
	want, holds := p.model.commit(txn)
	if holds && (err != nil || got != want) {
		t.Fatalf("commit %+v = %d, %v; want %d", txn, got, err, want)
	}
	if !holds && !errors.Is(err, store.ErrConflict) {
		t.Fatalf("commit %+v = %d, %v; want a conflict", txn, got, err)
	}
}

func (p *pair) list(t *rapid.T) {
	revision := p.revision(t)
	opts := store.ListOptions{Revision: revision, Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
	var got []store.Entry
	for more := true; more; {
		page, err := p.store.List(p.ctx, p.prefix, opts)
		if err != nil {
			t.Fatalf("list at %d: %v", revision, err)
		}
		got = append(got, page.Entries...)
		if more = page.More; more {
			opts.After = got[len(got)-1].Key
		}
	}
	if diff := cmp.Diff(p.model.list(revision), got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("list at %d (-want +got):\n%s", revision, diff)
	}
}

func (p *pair) watch(t *rapid.T) {
	from := p.revision(t)
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	w := p.store.Watch(ctx, p.prefix, from)
	next := func() (b store.Batch, open bool) {
		for b, open = <-w.Batches(); open && len(b.Events) == 0; b, open = <-w.Batches() {
		}
		return b, open
	}
	for _, want := range p.model.history(from) {
		got, open := next()
		if !open {
			t.Fatalf("watch from %d ended before %d: %v", from, want.Revision, w.Err())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("watch from %d (-want +got):\n%s", from, diff)
		}
	}
	cancel()
	if extra, open := next(); open {
		t.Fatalf("watch from %d: unexpected %+v", from, extra)
	}
}

// compact is drawn as often as the others, so it mostly deletes little.
func (p *pair) compact(t *rapid.T) {
	revision := p.model.oldest + (p.revision(t)-p.model.oldest)/4
	if err := p.store.Compact(p.ctx, revision); err != nil {
		t.Fatalf("compact %d: %v", revision, err)
	}
	p.model.oldest = revision
	if _, err := p.store.List(p.ctx, p.prefix, store.ListOptions{Revision: revision - 1}); !errors.Is(err,
		store.ErrCompacted) {
		t.Fatalf("list before the compacted %d: %v; want ErrCompacted", revision, err)
	}
}
