package syncs

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/control/watcher"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/watch"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
)

// watched is a sync as it is in one revision of its object, with what its source came to since. A change of the object
// ends it, and another one begins with a poll. Controller.mu guards what changes.
type watched struct {
	key      engine.Key
	object   api.Object
	created  int64
	modified int64
	stop     context.CancelFunc
	// ended is closed when nothing polls for it any more.
	ended   chan struct{}
	polling polling

	state source.State
	// call is the last apply; zero before the first.
	call calls.ID
}

// of reports whether the watched sync is the object in its present form.
func (w *watched) of(object records.Read[api.Object]) bool {
	return w.created == object.Created && w.modified == object.Modified
}

func (c *Controller) lookup(key engine.Key) *watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watched[key]
}

// watch returns the watched sync of an object, and begins to poll it if that is not done yet; nil while Source doesn't
// run.
func (c *Controller) watch(key engine.Key, object records.Read[api.Object]) *watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.watched[key]
	switch {
	case c.ctx == nil:
		return nil
	case before != nil && before.of(object):
		return before
	}
	ctx, stop := context.WithCancel(c.ctx)
	w := &watched{key: key, object: *object.Value, created: object.Created, modified: object.Modified, stop: stop,
		ended: make(chan struct{})}
	if before != nil {
		before.stop()
		if before.object.Metadata.UID != w.object.Metadata.UID { // it was removed and declared again since
			c.drop(before)
		}
	}
	c.watched[key] = w
	if !c.swept {
		c.swept = true
		c.sweep()
	}
	poll := c.watcher(w)
	c.running.Go(func() { defer close(w.ended); _ = recovery.Keep(ctx, poll.Run, "object", key) })
	return w
}

// drop removes what was fetched for a sync, once nothing fetches for it. What a poll that hangs holds is removed when
// the next server begins.
func (c *Controller) drop(w *watched) {
	c.running.Go(func() {
		if <-w.ended; !w.polling.hangs() {
			c.Sources.Drop(w.object.Metadata.UID)
		}
	})
}

func (c *Controller) unwatch(key engine.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watched[key]; w != nil {
		w.stop()
		delete(c.watched, key)
		if !c.calls.Running(c.last[key]) {
			delete(c.last, key)
		}
		c.drop(w)
	}
}

// sweep removes what was fetched for syncs that went while this server didn't have the controllers.
func (c *Controller) sweep() {
	var uids []string
	for object := range c.Snapshot().Objects(api.KindSync) {
		uids = append(uids, object.Value.Metadata.UID)
	}
	c.Sources.Keep(uids)
}

// watcher returns what polls a source. Its handler enqueues the sync, as does a poll whose outcome is to be acted on.
func (c *Controller) watcher(w *watched) *watcher.Watcher[source.File] {
	spec, _ := api.DecodeSpec[api.SyncSpec](w.object) // of one that can't be read, Poll says so
	log := c.Logger.With("object", w.object.Ref().String())
	var revision string
	poll := watcher.New(watcher.Options[source.File]{
		Name: string(api.KindSync), Interval: spec.Poll(), Backoff: backoff(spec), Logger: log, Metrics: c.Metrics,
		Timeout: listTime,
		List: func(ctx context.Context, _ watch.Selector) ([]source.File, error) {
			got := c.turns.take(ctx, &w.polling, func(ctx context.Context) (f fetched) {
				f.revision, f.files, f.err = c.Sources.Poll(ctx, w.object)
				return f
			})
			revision = got.revision
			return got.files, got.err
		},
		Facts: func(f source.File) watch.Facts {
			return watch.Facts{ID: f.Path, Generation: f.Modified, Status: f.Digest}
		},
		Clone:  func(f source.File) source.File { return f },
		Polled: func(err error) { c.polled(w, revision, err) },
	})
	poll.Handle("enqueue", func(_ context.Context, change watch.Change[source.File]) error {
		log.Debug("source changed", "change", change.Type, "file", change.ID)
		c.wake(w.key)
		return nil
	})
	return poll
}

func (c *Controller) wake(key engine.Key) {
	c.mu.Lock()
	enqueue := c.enqueue
	c.mu.Unlock()
	if enqueue != nil {
		enqueue(key)
	}
}

// polled keeps the outcome of a poll.
func (c *Controller) polled(w *watched, revision string, err error) {
	c.mu.Lock()
	w.state.Polls++
	w.state.PollFault = faultOf(err)
	if err == nil {
		w.state.Revision = revision
	}
	c.mu.Unlock()
	c.wake(w.key)
}

// apply begins an apply of what was fetched, unless one for the sync is under way.
func (c *Controller) apply(w *watched) {
	c.mu.Lock()
	c.attempts++
	w.call = calls.ID{Key: w.key, Created: w.created, Attempt: c.attempts}
	c.last[w.key] = w.call
	call, object := w.call, w.object
	c.mu.Unlock()
	c.calls.Begin(call, "", func(ctx context.Context) source.Applied { return c.Sources.Apply(ctx, c.Store, object) })
	if _, ended := c.calls.Answer(call); ended || c.calls.Running(call) {
		c.mu.Lock()
		w.state.AppliedPoll = w.state.Polls
		c.mu.Unlock()
	} // else it waits for its turn, and is reconciled then
}

// take takes over the answer of an apply that has ended.
func (c *Controller) take(w *watched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls.ForgetOthers(w.call)
	if answer, ended := c.calls.Answer(w.call); ended {
		c.calls.Forget(w.call)
		w.state.Applied = &answer
	}
}

// state returns what is known of a sync.
func (c *Controller) state(s records.Snapshot, w *watched) source.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := w.state
	state.Applying = c.calls.Running(c.last[w.key])
	if state.Applied != nil {
		for ref, revision := range state.Applied.Objects {
			object := s.Object(ref)
			going := object.Exists() && object.Value.Metadata.Deleting() // it is made again once it is gone
			state.Drifted = state.Drifted || object.Modified != revision && s.Revision() >= revision && !going
		}
	}
	return state
}

// log logs a status that says something else than the one before.
func (c *Controller) log(object api.Object, before, next api.SyncStatus) {
	was, is := api.FindCondition(before.Conditions, api.ConditionReady),
		api.FindCondition(next.Conditions, api.ConditionReady)
	log := c.Logger.With("object", object.Ref().String(), "source", next.Source)
	switch {
	case is.Status == api.ConditionFalse && (was == nil || was.Message != is.Message):
		log.Warn("sync failed; what is applied stays", "reason", is.Reason, "error", is.Message, "next", is.Next)
	case is.Status == api.ConditionTrue && (before.Revision != next.Revision ||
		!before.AppliedAt.Equal(next.AppliedAt)):
		log.Info("sync applied", "revision", next.Revision, "objects", next.Objects, "changed",
			len(next.Changes)+next.More)
	}
}

const nextFetch = "see the server's log; Tend polls the source again"

func faultOf(err error) *source.Error {
	if err == nil {
		return nil
	}
	var fault *source.Error
	if errors.As(err, &fault) {
		return fault
	}
	return source.NewFault(api.ReasonFetchFailed, nextFetch, "%s", err)
}

// backoff returns the most time between polls of a source that fails. A folder of this machine costs nobody anything,
// and who mends it looks on: it is polled as often as ever.
func backoff(spec api.SyncSpec) time.Duration {
	if spec.Dir != "" {
		return spec.Poll()
	}
	return min(10*spec.Poll(), max(slowest, spec.Poll()))
}
