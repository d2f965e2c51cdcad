package syncs

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/watcher"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/watch"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
)

// call polls a sync until it is cancelled, or applies what was fetched for it.
func (c *syncs) call(ctx context.Context, object records.Read[api.Object], call control.Call) any {
	if begun, ok := call.Request.(known); ok {
		return applied{object.Value.Metadata.UID, begun, c.apply(ctx, *object.Value)}
	}
	c.sweep.Do(func() {
		var uids []string
		for other := range c.deps.Snapshot().Objects(api.KindSync) {
			uids = append(uids, other.Value.Metadata.UID)
		}
		c.Sources.Keep(uids)
	})
	var last polling
	defer c.drop(*object.Value)
	_ = c.watcher(*object.Value, call, &last).Run(ctx)
	return nil
}

// apply applies what was fetched. A panic refuses it.
func (c *syncs) apply(ctx context.Context, object api.Object) (a source.Applied) {
	err := recovery.Call(func() error { a = c.Sources.Apply(ctx, c.deps.Store, object); return nil }, "object",
		object.Ref().String())
	if err != nil {
		a.Fault = source.NewFault(api.ReasonApplyRefused, nextFetch, "%s", err)
	}
	return a
}

// drop removes what was fetched for a sync that was removed, also if it was declared again since.
func (c *syncs) drop(object api.Object) {
	is := c.deps.Snapshot().Object(object.Ref())
	if !is.Exists() || is.Value.Metadata.UID != object.Metadata.UID {
		c.Sources.Drop(object.Metadata.UID)
	}
}

// watcher returns what polls a source. Each poll is an answer to the call.
func (c *syncs) watcher(object api.Object, call control.Call, last *polling) *watcher.Watcher[source.File] {
	spec, _ := api.DecodeSpec[api.SyncSpec](object) // of one that can't be read, Poll says so
	log := c.deps.Logger.With("object", object.Ref().String())
	var revision string
	poll := watcher.New(watcher.Options[source.File]{
		Name: string(api.KindSync), Interval: spec.Poll(), Backoff: backoff(spec), Logger: log, Metrics: c.Metrics,
		Timeout: listTime,
		List: func(ctx context.Context, _ watch.Selector) ([]source.File, error) {
			got := c.turns.take(ctx, last, func(ctx context.Context) (f fetched) {
				f.revision, f.files, f.err = c.Sources.Poll(ctx, object)
				return f
			})
			revision = got.revision
			return got.files, got.err
		},
		Facts: func(f source.File) watch.Facts {
			return watch.Facts{ID: f.Path, Generation: f.Modified, Status: f.Digest}
		},
		Clone:  func(f source.File) source.File { return f },
		Polled: func(err error) { call.Say(polled{revision, faultOf(err)}) },
	})
	poll.Handle("log", func(_ context.Context, change watch.Change[source.File]) error {
		log.Debug("source changed", "change", change.Type, "file", change.ID)
		return nil
	})
	return poll
}

const nextFetch = "see the server's log; Tend polls the source again"

func faultOf(err error) *source.Error {
	if err == nil {
		return nil
	}
	if fault, ok := errors.AsType[*source.Error](err); ok {
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
