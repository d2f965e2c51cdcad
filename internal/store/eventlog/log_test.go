package eventlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestContract runs every rule of the log on every store.
func TestContract(t *testing.T) {
	rules := map[string]func(*testing.T, *world){
		"a change and its event are one commit":             oneCommit,
		"a refused commit leaves no event":                  refusedLeavesNone,
		"readers see every commit once and in order":        onceAndInOrder,
		"a reading begins within a commit":                  beginsWithin,
		"next waits for the next event":                     nextWaits,
		"another server reads the same log":                 sameEverywhere,
		"the log of one object is read without the others":  oneObject,
		"what was trimmed is gone and never a silent gap":   trimmedIsGone,
		"retention counts entries, bytes and age":           retains,
		"an old value that the view lacks is read":          readsOld,
		"a late commit has the place of its late commit":    lateCommit,
		"a commit of many objects stays within its bound":   manyObjects,
		"an event stays within its bound":                   largeChange,
		"the author of a commit is in its events":           authors,
		"a floor is never lowered by a server that is late": floorNeverFalls,
	}
	for backend, open := range backends {
		for name, rule := range rules {
			t.Run(backend+"/"+name, func(t *testing.T) { rule(t, newWorld(t, open)) })
		}
	}
}

func oneCommit(t *testing.T, w *world) {
	revision := w.put(object(web, 1, `{"image":"web:1","replicas":2}`))
	second := w.put(object(web, 2, `{"image":"web:2","replicas":2}`))
	w.commit(w.ctx, records.NewTxn("delete").If(records.ObjectKey(web),
		w.modified(records.ObjectKey(web))).Delete(records.ObjectKey(web)))
	events := w.all(eventlog.Position{})
	if diff := cmp.Diff([]string{"deployment.created", "deployment.updated", "deployment.deleted"},
		types(events)); diff != "" {
		t.Fatal(diff)
	}
	if events[0].ID != fmt.Sprintf("%d.0", revision) || events[1].ID != fmt.Sprintf("%d.0", second) ||
		events[0].Source != source ||
		events[0].Subject != "prod/web" || events[0].SpecVersion != "1.0" || time.Since(events[0].Time) > time.Hour {
		t.Errorf("the event is %+v", events[0])
	}
	changed := data(t, events[1])
	want := []api.EventChange{{Path: "spec.image", Old: []byte(`"web:1"`), New: []byte(`"web:2"`)}}
	if diff := cmp.Diff(want, changed.Changes); diff != "" || changed.Generation != 2 || changed.OldGeneration != 1 ||
		changed.Verb != "apply" {
		t.Errorf("%+v: %s", changed, diff)
	}
	for record := range w.view.Snapshot().Prefix(records.EventsPrefix) {
		t.Errorf("the view keeps %s", record.Key)
	}
}

func refusedLeavesNone(t *testing.T, w *world) {
	published := 0
	w.recorder.Published = func(events int) { published += events }
	w.put(object(web, 1, `{}`))
	_, err := records.NewTxn("apply").If(records.ObjectKey(web), 0).Put(records.ObjectKey(web),
		object(web, 2, `{"a":1}`)).Commit(w.ctx, w.recorder)
	if !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	if got := types(w.all(eventlog.Position{})); len(got) != 1 || published != 1 {
		t.Errorf("the log has %v, %d counted", got, published)
	}
}

// onceAndInOrder compares the log with a plain record of the commits.
func onceAndInOrder(t *testing.T, w *world) {
	var want []string
	for i := range 60 {
		ref := api.Ref{Kind: api.KindJob, Scope: "s", Name: "j" + strconv.Itoa(rand.IntN(9))}
		want = append(want, strconv.FormatInt(w.put(object(ref, int64(i), fmt.Sprintf(`{"retries":%d}`, i))), 10)+".0")
	}
	for _, at := range []int{-1, 0, 17, 58, 59} {
		after := eventlog.Position{}
		if at >= 0 {
			after, _ = eventlog.ParsePosition(want[at])
		}
		var got []string
		for _, e := range w.all(after) {
			got = append(got, e.ID)
		}
		if diff := cmp.Diff(want[at+1:], got,
			cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("after %v: %s", after, diff)
		}
	}
}

func beginsWithin(t *testing.T, w *world) {
	txn := records.NewTxn("apply")
	for i := range 5 {
		ref := api.Ref{Kind: api.KindJob, Scope: "s", Name: "j" + strconv.Itoa(i)}
		txn.If(records.ObjectKey(ref), 0).Put(records.ObjectKey(ref), object(ref, 1, `{}`))
	}
	revision := w.commit(w.ctx, txn)
	var got []string
	for _, e := range w.all(eventlog.Position{Revision: revision, Index: 2}) {
		got = append(got, e.ID)
	}
	if diff := cmp.Diff([]string{fmt.Sprintf("%d.3", revision), fmt.Sprintf("%d.4", revision)}, got); diff != "" {
		t.Error(diff)
	}
	if rest := w.all(eventlog.After(revision)); len(rest) != 0 {
		t.Errorf("after the revision there is %v", rest)
	}
}

func nextWaits(t *testing.T, w *world) {
	type answer struct {
		events []api.Event
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		events, _, err := w.log.Next(w.ctx, eventlog.Position{}, 10)
		got <- answer{events, err}
	}()
	w.put(object(web, 1, `{}`))
	if a := <-got; a.err != nil || len(a.events) != 1 {
		t.Errorf("next returned %+v", a)
	}
	ended, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, _, err := w.log.Next(ended, eventlog.After(1<<40), 10); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func sameEverywhere(t *testing.T, w *world) {
	for i := range 20 {
		w.put(object(web, int64(i), fmt.Sprintf(`{"replicas":%d}`, i)))
	}
	other := *w
	other.peer = w.serve(w.store)
	if diff := cmp.Diff(w.all(eventlog.Position{}), other.all(eventlog.Position{})); diff != "" {
		t.Error(diff)
	}
}

func oneObject(t *testing.T, w *world) {
	for i := range 20 {
		for _, name := range []string{"a", "b"} {
			w.put(object(api.Ref{Kind: api.KindJob, Scope: "s", Name: name}, int64(i), fmt.Sprintf(`{"retries":%d}`, i)))
		}
	}
	page, err := w.log.Read(w.ctx, eventlog.Query{Scope: "s", Name: "b", Limit: 100})
	if err != nil || len(page.Events) != 20 || page.More {
		t.Fatalf("%d events, more %v: %v", len(page.Events), page.More, err)
	}
	if slices.ContainsFunc(page.Events, func(e api.Event) bool { return e.Subject != "s/b" }) {
		t.Error("events of another object were read")
	}
}

func trimmedIsGone(t *testing.T, w *world) {
	for i := range 30 {
		w.put(object(web, int64(i), fmt.Sprintf(`{"replicas":%d}`, i)))
	}
	events := w.all(eventlog.Position{})
	if n, err := w.log.Trim(w.ctx, w.store, eventlog.Retention{Count: 10}, time.Now()); err != nil || n != 20 {
		t.Fatalf("%d trimmed: %v", n, err)
	}
	waitFor(t, w, func() bool { return w.log.State().Entries == 10 })
	late := *w
	late.peer = w.serve(w.store)
	for _, p := range []*world{w, &late} {
		last, _ := eventlog.ParsePosition(events[19].ID)
		before, _ := eventlog.ParsePosition(events[18].ID)
		var gone *eventlog.GoneError
		if _, err := p.log.Read(w.ctx, eventlog.Query{After: before}); !errors.As(err, &gone) ||
			gone.Oldest != eventlog.After(last.Revision) {
			t.Errorf("reading after the last event but one that was trimmed: %v", err)
		}
		if _, err := p.log.Read(w.ctx, eventlog.Query{}); !errors.As(err, &gone) {
			t.Errorf("reading from the beginning: %v", err)
		}
		if diff := cmp.Diff(events[20:], p.all(gone.Oldest)); diff != "" {
			t.Error(diff)
		}
	}
}

func retains(t *testing.T, w *world) {
	for i := range 10 {
		w.put(object(web, int64(i), fmt.Sprintf(`{"replicas":%d}`, i)))
	}
	state := w.log.State()
	if state.Entries != 10 || state.Bytes <= 0 {
		t.Fatalf("the log holds %+v", state)
	}
	for name, c := range map[string]struct {
		keep eventlog.Retention
		now  time.Time
		left int
	}{
		"no bound": {eventlog.Retention{}, time.Now().Add(1e6 * time.Hour), 10},
		"age":      {eventlog.Retention{Age: time.Hour, Count: 100, Bytes: 1 << 30}, time.Now(), 10},
		"bytes":    {eventlog.Retention{Bytes: state.Bytes * 6 / 10}, time.Now(), 6},
		"old":      {eventlog.Retention{Age: time.Hour}, time.Now().Add(2 * time.Hour), 0},
	} {
		before := w.log.State().Entries
		n, err := w.log.Trim(w.ctx, countOnly{}, c.keep, c.now)
		if err != nil || before-n > c.left+1 || before-n < c.left-1 && before >= c.left {
			t.Errorf("%s: %d of %d trimmed: %v", name, n, before, err)
		}
	}
}

// countOnly takes commits and writes nothing.
type countOnly struct{}

func (countOnly) Commit(context.Context, store.Txn) (int64, error) { return 1, nil }

// readsOld commits through a recorder without a snapshot, and through one whose snapshot is older than the commit's
// condition.
func readsOld(t *testing.T, w *world) {
	key := records.ObjectKey(web)
	newest := w.put(object(web, 1, `{"replicas":1}`))
	older := w.view.Snapshot()
	newest = max(newest, w.put(object(web, 2, `{"replicas":3}`)))
	for i, known := range []func() *view.Snapshot{nothingKnown, func() *view.Snapshot { return older }} {
		behind := eventlog.Record(w.store, known, time.Now)
		revision, err := records.NewTxn("scale").If(key, newest).Put(key,
			object(web, 3, fmt.Sprintf(`{"replicas":%d}`, 5+i))).Commit(w.ctx, behind)
		if err == nil {
			err = w.view.WaitFor(w.ctx, revision)
		}
		events := w.all(eventlog.After(newest))
		if err != nil || len(events) != 1 || string(data(t, events[0]).Changes[0].Old) != []string{"3", "5"}[i] {
			t.Errorf("%+v: %v", events, err)
		}
		newest = revision
	}
}

// held is a store whose next commit is applied only when it is released, after its caller has given up.
type held struct {
	store.Store
	txns chan store.Txn
}

func (h held) Commit(_ context.Context, txn store.Txn) (int64, error) {
	h.txns <- txn
	return 0, store.ErrUnknownOutcome
}

func lateCommit(t *testing.T, w *world) {
	late := held{w.store, make(chan store.Txn, 1)}
	key := records.ObjectKey(web)
	_, err := records.NewTxn("apply").If(key, 0).Put(key, object(web, 1, `{}`)).Commit(w.ctx,
		eventlog.Record(late, w.view.Snapshot, time.Now))
	if !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	for i := range 12 {
		w.put(object(api.Ref{Kind: api.KindJob, Scope: "s", Name: "j" + strconv.Itoa(i)}, 1, `{}`))
	}
	seen := w.all(eventlog.Position{})
	position, _ := eventlog.ParsePosition(seen[len(seen)-1].ID)
	revision, err := w.store.Commit(w.ctx, <-late.txns)
	if err == nil {
		err = w.view.WaitFor(w.ctx, revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := *w
	other.peer = w.serve(w.store)
	for _, p := range []*world{w, &other} {
		events := p.all(position)
		if len(events) != 1 || events[0].Subject != "prod/web" || events[0].ID != fmt.Sprintf("%d.0", revision) {
			t.Errorf("after %s the log has %+v", position, events)
		}
		if all := p.all(eventlog.Position{}); len(all) != 13 || all[12].Subject != "prod/web" {
			t.Errorf("the whole log is %v", types(all))
		}
	}
}

func manyObjects(t *testing.T, w *world) {
	txn := records.NewTxn("apply")
	const n = 2000
	for i := range n {
		ref := api.Ref{Kind: api.KindJob, Scope: "s", Name: "j" + strconv.Itoa(i)}
		txn.If(records.ObjectKey(ref), 0).Put(records.ObjectKey(ref),
			object(ref, 1, `{"env":{"A":"`+strings.Repeat("x", 500)+`"}}`))
	}
	w.commit(w.ctx, txn)
	if size := w.log.State().Bytes; size > n*512 {
		t.Errorf("the entry has %d bytes", size)
	}
	page, err := w.log.Read(w.ctx, eventlog.Query{Limit: 10})
	if err != nil || len(page.Events) != n {
		t.Errorf("%d events: %v", len(page.Events), err)
	}
}

func largeChange(t *testing.T, w *world) {
	blocks := map[string]any{}
	for i := range 100 {
		blocks[strings.Repeat("k", 200)+strconv.Itoa(i)] = strings.Repeat("v", 60)
	}
	spec, _ := json.Marshal(map[string]any{"resources": blocks, "placement": blocks})
	w.put(object(web, 1, `{}`))
	w.put(object(web, 2, string(spec)))
	events := w.all(eventlog.Position{})
	changed := data(t, events[1])
	if size := len(events[1].Data); size > eventlog.MaxEventBytes || len(changed.Changes)+changed.MoreChanges != 200 {
		t.Errorf("the event has %d bytes, %d changes and %d more", size, len(changed.Changes), changed.MoreChanges)
	}
}

func authors(t *testing.T, w *world) {
	ctx := records.WithAuthor(w.ctx, records.Author{Verb: "scale", Actor: "unix:ada", Manager: "apply"})
	key := records.ObjectKey(web)
	w.commit(ctx, records.NewTxn("x").If(key, 0).Put(key, object(web, 1, `{}`)))
	got := data(t, w.all(eventlog.Position{})[0])
	if got.Verb != "scale" || got.Actor != "unix:ada" || got.Manager != "apply" {
		t.Errorf("the event says %+v", got)
	}
}

func floorNeverFalls(t *testing.T, w *world) {
	for i := range 20 {
		w.put(object(web, int64(i), fmt.Sprintf(`{"replicas":%d}`, i)))
	}
	late := w.serve(w.store)
	stale := held{w.store, make(chan store.Txn, 1)}
	if _, err := late.log.Trim(w.ctx, stale, eventlog.Retention{Count: 15}, time.Now()); !errors.Is(err,
		store.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	if _, err := w.log.Trim(w.ctx, w.store, eventlog.Retention{Count: 5}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Commit(w.ctx, <-stale.txns); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the late trim: %v", err)
	}
}
