package syncs

import (
	"context"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/control/watcher"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Bounds of what is done at once.
const (
	// pollsAtOnce is the most polls at a time, and the most of slow sources beside them; applyTime the most time that
	// an apply may take.
	pollsAtOnce = 8
	applyTime   = 5 * time.Minute
	// slowest bounds the time between polls of a remote source that fails, and listTime that of a poll with the wait
	// for its turn.
	slowest  = 15 * time.Minute
	listTime = time.Hour
)

// Sources fetches and applies what syncs name. It keeps what it fetched by the uid of the sync.
type Sources interface {
	// Poll fetches the source, if it has changed, and returns its revision and its files. Its error is a *source.Error,
	// if the source is the cause.
	Poll(ctx context.Context, object api.Object) (revision string, files []source.File, err error)
	// Apply applies what Poll fetched, or nothing of it. It commits through the term of this server, and only while the
	// sync is as it is in object.
	Apply(ctx context.Context, through records.Committer, object api.Object) source.Applied
	// Keep removes what was fetched for any other sync, Drop what was fetched for one.
	Keep(uids []string)
	Drop(uid string)
}

// Deps are the dependencies of the controller.
type Deps struct {
	control.Deps
	Sources Sources
	// Metrics may be nil.
	Metrics *watcher.Metrics
}

// Controller reconciles syncs. Create it with New.
type Controller struct {
	Deps
	calls *calls.Calls[source.Applied]
	turns *turns

	mu sync.Mutex
	// ctx and enqueue are set while Source runs.
	ctx     context.Context
	enqueue func(...engine.Key)
	watched map[engine.Key]*watched
	// last are the applies that began last, by their key: one ends before the next begins, also that of another object
	// of the name.
	last map[engine.Key]calls.ID
	// swept: what was fetched for syncs that are gone was removed once.
	swept bool
	// attempts counts the applies, so that no two have one id.
	attempts int
	running  recovery.Group
}

// New returns a controller. It polls only while its Source runs.
func New(deps Deps) *Controller {
	deps.Deps = deps.Defaults()
	failed := func(err error) source.Applied {
		return source.Applied{Fault: source.NewFault(api.ReasonApplyRefused, nextFetch, "%s", err)}
	}
	return &Controller{
		Deps: deps, calls: calls.New(applyTime, failed), turns: newTurns(), watched: map[engine.Key]*watched{},
		last: map[engine.Key]calls.ID{},
	}
}

// Name implements control.Controller.
func (c *Controller) Name() string { return string(api.KindSync) }

// Workers returns how many syncs are reconciled at once; polls and applies are made outside of the workers.
func (c *Controller) Workers() int { return 2 }

// Keys returns all syncs, and those of which only the status is left.
func (c *Controller) Keys() []engine.Key { return control.KeysAndStatuses(c.Snapshot(), api.KindSync) }

// Dirty returns the syncs that are to be watched, applied or forgotten, and those whose status is not what it should
// be.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	s := c.Snapshot()
	return control.Due(c.Keys(), func(key engine.Key) bool {
		object := s.Object(refOf(key))
		w := c.lookup(key)
		if !object.Exists() || w == nil || !w.of(object) {
			return true
		}
		state := c.state(s, w)
		before, next := status(s, object, state, now)
		differs, err := control.Differs(&before, next)
		return state.Apply() || differs || err != nil
	})
}

// Affected returns the sync that changed.
func (c *Controller) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	if object, ok := value.(*api.Object); ok && object.Kind == api.KindSync {
		return []engine.Key{control.Key(object.Ref())}
	}
	return nil
}

// Source implements control.Source: it polls and applies until ctx ends, and waits for what is under way.
func (c *Controller) Source(ctx context.Context, enqueue func(keys ...engine.Key)) error {
	c.mu.Lock()
	c.ctx, c.enqueue = ctx, enqueue
	c.mu.Unlock()
	enqueue(c.Keys()...)
	err := c.calls.Run(ctx, enqueue)
	c.mu.Lock()
	c.ctx, c.enqueue = nil, nil
	clear(c.watched)
	c.mu.Unlock()
	c.running.Wait()
	return err
}

func refOf(key engine.Key) api.Ref {
	return api.Ref{Kind: api.KindSync, Scope: key.Scope, Name: key.Name}
}

// Reconcile watches one sync, applies what its source has, and writes its status.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	s := c.Snapshot()
	object := s.Object(refOf(key))
	if !object.Exists() {
		return c.forget(ctx, s, key)
	}
	w := c.watch(key, object)
	if w == nil {
		return engine.Result{}, nil // Source enqueues it when it begins
	}
	c.take(w)
	state := c.state(s, w)
	revision, err := c.report(ctx, s, object, state)
	if err != nil {
		return engine.Result{}, err
	}
	if state.Apply() {
		c.apply(w)
	}
	return engine.Result{Revision: revision}, nil
}

// status returns a sync's status as it is stored, and as it should be.
func status(s records.Snapshot, object records.Read[api.Object], state source.State, now time.Time) (before,
	next api.SyncStatus) {
	stored, _ := s.Get(records.StatusKey(object.Value.Ref()))
	if was, _ := stored.Value.(*api.SyncStatus); was != nil {
		before = *was
	}
	return before, state.Status(*object.Value, object.Modified, before, now)
}

// report writes a sync's status, unless it is there already.
func (c *Controller) report(ctx context.Context, s records.Snapshot, object records.Read[api.Object],
	state source.State) (int64, error) {
	key := records.StatusKey(object.Value.Ref())
	before, next := status(s, object, state, c.Now())
	if changed, err := control.Differs(&before, next); err != nil || !changed {
		return 0, err
	}
	stored, _ := s.Get(key)
	txn := records.NewTxn("sync.status").If(records.ObjectKey(object.Value.Ref()), object.Modified).If(key,
		stored.Modified).Put(key, next)
	revision, err := c.Commit(ctx, txn, key)
	if err == nil {
		c.log(*object.Value, before, next)
	}
	return revision, err
}

// forget ends the polls of a sync that is gone, and deletes its status.
func (c *Controller) forget(ctx context.Context, s records.Snapshot, key engine.Key) (engine.Result, error) {
	c.unwatch(key)
	c.calls.ForgetOthers(calls.ID{Key: key})
	ref := refOf(key)
	stored, there := s.Get(records.StatusKey(ref))
	if !there {
		return engine.Result{}, nil
	}
	txn := records.NewTxn("sync.forget").If(records.ObjectKey(ref), 0).If(records.StatusKey(ref),
		stored.Modified).Delete(records.StatusKey(ref))
	revision, err := c.Commit(ctx, txn, records.StatusKey(ref))
	return engine.Result{Revision: revision}, err
}
