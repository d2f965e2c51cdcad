package syncs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is the controller under its queue, over a store in memory, with sources that are functions. It runs in a
// synctest bubble: time passes when every goroutine waits.
type harness struct {
	testing.TB
	store *memory.Store
	view  *view.View
	began time.Time
	// controller is the last one that was started.
	controller *control.Shell

	mu sync.Mutex
	// polls and applies are the behaviours of sources by their folder; done says what was asked of them, in order.
	polls   map[string]func(ctx context.Context) (string, error)
	applies map[string]func(ctx context.Context) source.Applied
	done    []string
	fate    func(store.Txn) storefault.Fate
	// The last apply was to commit through this.
	through records.Committer
}

func inHarness(t *testing.T, test func(h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := &harness{TB: t, store: memory.New(), began: time.Now(),
			polls:   map[string]func(context.Context) (string, error){},
			applies: map[string]func(context.Context) source.Applied{}}
		h.view = view.New(h.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		ctx, cancel := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		parts.Go(func() { _ = h.view.Run(ctx) })
		<-h.view.Synced()
		stop := h.start(ctx)
		test(h)
		stop()
		cancel()
		parts.Wait()
		_ = h.store.Close()
	})
}

// start runs a controller, as a server does that gets the controllers. stop ends it, as the loss of a term does.
func (h *harness) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	deps := control.Deps{
		Snapshot: func() records.Snapshot { return records.Snapshot{Reader: h.view.Snapshot()} },
		Store: storefault.New(h.store, func(txn store.Txn) storefault.Fate {
			if h.fate == nil {
				return storefault.Answered
			}
			return h.fate(txn)
		}),
	}
	c := control.New(deps, Kind(deps, Options{Sources: h}))
	h.controller = c
	work := reconciler.New(reconciler.Options{
		Name: "sync", Reconciler: c, Replay: c.Keys, Dirty: c.Dirty, Workers: c.Workers(),
		Synced: h.view.Synced(), Revision: h.view.Revision, WaitFor: h.view.WaitFor,
	})
	remove := h.view.OnChange(func(change view.Change) { work.Enqueue(c.Affected(records.Snapshot{}, change)...) })
	var running sync.WaitGroup
	running.Go(func() { _ = work.Run(ctx) })
	running.Go(func() { _ = c.Source(ctx, work.Enqueue) })
	return func() { cancel(); running.Wait(); remove() }
}

func (h *harness) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, fmt.Sprintf("%s ", time.Since(h.began).Round(time.Second))+fmt.Sprintf(format, args...))
}

// take returns what was asked of the sources since the last call.
func (h *harness) take() string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	out := fmt.Sprint(h.done)
	h.done = nil
	return out
}

func (h *harness) want(when, want string) {
	h.Helper()
	if got := h.take(); got != want {
		h.Errorf("%s: %s, want %s", when, got, want)
	}
}

// behaviour returns what a source does.
func (h *harness) behaviour(object api.Object) (name string, poll func(context.Context) (string, error),
	apply func(context.Context) source.Applied) {
	spec, err := api.DecodeSpec[api.SyncSpec](object)
	if err != nil {
		h.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name = cmp.Or(spec.Dir, spec.Git)
	return name, h.polls[name], h.applies[name]
}

// Poll implements Sources.
func (h *harness) Poll(ctx context.Context, object api.Object) (string, []source.File, error) {
	name, poll, _ := h.behaviour(object)
	h.say("poll %s", name)
	revision, err := poll(ctx)
	return revision, []source.File{{Path: "a", Digest: revision}}, err
}

// Apply implements Sources.
func (h *harness) Apply(ctx context.Context, through records.Committer, object api.Object) source.Applied {
	name, _, apply := h.behaviour(object)
	h.say("apply %s", name)
	h.mu.Lock()
	h.through = through
	h.mu.Unlock()
	applied := apply(ctx)
	applied.At = time.Now()
	return applied
}

// Keep implements Sources.
func (h *harness) Keep(uids []string) { slices.Sort(uids); h.say("keep %v", uids) }

// Drop implements Sources.
func (h *harness) Drop(uid string) { h.say("drop %s", uid) }

// behave sets what a source does, from now on.
func (h *harness) behave(name string, poll func(context.Context) (string, error),
	apply func(context.Context) source.Applied) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls[name], h.applies[name] = poll, apply
}

func has(revision string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return revision, nil }
}

func fails(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

func applies(revision string, objects map[api.Ref]int64) func(context.Context) source.Applied {
	return func(context.Context) source.Applied { return source.Applied{Revision: revision, Objects: objects} }
}

func refuses(revision string) func(context.Context) source.Applied {
	return func(context.Context) source.Applied {
		return source.Applied{Revision: revision, Fault: source.NewFault(api.ReasonFieldOwned, "agree",
			"it is another's")}
	}
}

func refTo(name string) api.Ref { return api.Ref{Kind: api.KindSync, Scope: api.Unscoped, Name: name} }

func (h *harness) write(txn *records.Txn) int64 {
	h.Helper()
	revision, err := txn.Commit(h.Context(), h.store)
	if err != nil {
		h.Fatal(err)
	}
	return revision
}

// declare stores a sync of the folder of its name, with an interval of a minute.
func (h *harness) declare(name, uid string) {
	h.Helper()
	h.declareSpec(name, uid, api.SyncSpec{Dir: "/" + name})
}

func (h *harness) declareSpec(name, uid string, spec api.SyncSpec) {
	h.Helper()
	h.write(h.declaration(name, uid, spec))
}

func (h *harness) declaration(name, uid string, spec api.SyncSpec) *records.Txn {
	h.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		h.Fatal(err)
	}
	ref := refTo(name)
	return records.NewTxn("test").Put(records.ObjectKey(ref),
		api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: name, Spec: raw,
			Metadata: api.Metadata{UID: uid, Generation: 1}})
}

// status returns reason and revision of a sync.
func (h *harness) status(name string) string {
	synctest.Wait()
	stored, _ := h.view.Snapshot().Get(records.StatusKey(refTo(name)))
	status, ok := stored.Value.(*api.SyncStatus)
	if !ok {
		return "none"
	}
	return api.FindCondition(status.Conditions, api.ConditionReady).Reason + " " + status.Revision
}

func after(d time.Duration) { time.Sleep(d); synctest.Wait() }
