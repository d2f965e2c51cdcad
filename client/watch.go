package client

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// WatchOptions selects the objects to watch.
type WatchOptions struct {
	ObjectFilter
	// Since is the revision to continue from (a ListResult's or a WatchEvent's). 0 begins with every existing object.
	Since int64
	// Silence is the time without a sign of life after which the stream is opened again. Default 1 min.
	Silence time.Duration
}

// Watch follows the objects of a kind across cut connections.
type Watch struct {
	client  *Client
	ctx     context.Context
	cancel  context.CancelFunc
	request request
	opts    WatchOptions
	stream  *stream
	// listed are the objects of the listing that the watch begins with, while it is not complete; true if the current
	// connection brought them.
	listed map[api.Ref]bool
	// queued are events to return before the stream is read on.
	queued []api.WatchEvent
}

// The backoffs before a watch is opened again, doubling.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
)

// Watch begins to follow; the first connection is made by the first Next. Close it.
func (c *Client) Watch(ctx context.Context, kind api.Kind, opts WatchOptions) *Watch {
	if opts.Silence <= 0 {
		opts.Silence = time.Minute
	}
	ctx, cancel := context.WithCancel(ctx)
	return &Watch{client: c, ctx: ctx, cancel: cancel, opts: opts,
		request: streamRequest("/v1/objects/" + url.PathEscape(string(kind)))}
}

// Next returns the next event that isn't a bookmark. It reconnects a cut connection and continues where that was. If
// that is impossible, it returns an error for which IsGone holds: list again. Any other error is the server's refusal
// or that of the context. After a reconnection events may repeat.
func (w *Watch) Next() (api.WatchEvent, error) {
	return persist(w.ctx, w.step, func(e api.WatchEvent) bool { return e.Type != api.WatchBookmark })
}

// persist calls step until it returns a wanted item. It retries a failure after a backoff, unless the server refused or
// ctx has ended.
func persist[T any](ctx context.Context, step func() (T, error), wanted func(T) bool) (T, error) {
	var none T
	for backoff := firstBackoff; ; {
		item, err := step()
		switch {
		case err == nil && wanted(item):
			return item, nil
		case err == nil:
			backoff = firstBackoff
			continue
		case ctx.Err() != nil:
			return none, context.Cause(ctx)
		case refused(err):
			return none, err
		}
		select {
		case <-time.After(backoff):
			backoff = min(2*backoff, lastBackoff)
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
	}
}

// step reads one event, and connects first if there is no connection. After an error there is none.
func (w *Watch) step() (event api.WatchEvent, err error) {
	defer func() {
		if err != nil && w.stream != nil {
			w.stream.Close()
			w.stream = nil
		}
	}()
	if len(w.queued) > 0 {
		event, w.queued = w.queued[0], w.queued[1:]
		w.opts.Since = max(w.opts.Since, event.Revision)
		return event, nil
	}
	if w.stream == nil {
		for ref := range w.listed {
			w.listed[ref] = false // the listing begins again
		}
		w.request.query = queryWith("watch", "1", "scope", w.opts.Scope, "selector", w.opts.Selector)
		if w.opts.Since > 0 {
			w.request.query.Set("since", strconv.FormatInt(w.opts.Since, 10))
		}
		if w.stream, err = w.client.openStream(w.ctx, w.request, w.opts.Silence); err != nil {
			return event, err
		}
	}
	if err := w.stream.next(&event); err != nil {
		return event, err
	}
	if event.Type == api.WatchError && event.Problem != nil {
		return event, event.Problem
	}
	if w.opts.Since == 0 {
		w.list(event)
		if len(w.queued) > 0 {
			return w.step()
		}
	}
	w.opts.Since = max(w.opts.Since, event.Revision)
	return event, nil
}

// list follows the listing that a watch begins with. Once it is complete, list queues the deletions of the objects that
// only a cut one had, and then the event that completed it: no line of the server says that they are gone.
func (w *Watch) list(event api.WatchEvent) {
	if event.Revision == 0 {
		if event.Object != nil {
			if w.listed == nil {
				w.listed = map[api.Ref]bool{}
			}
			w.listed[event.Object.Ref()] = true
		}
		return
	}
	for ref, there := range w.listed {
		if !there {
			w.queued = append(w.queued, api.WatchEvent{Type: api.WatchDelete,
				Object: &api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name}})
		}
	}
	if w.listed = nil; len(w.queued) > 0 {
		w.queued = append(w.queued, event)
	}
}

// refused reports whether the server's answer is final: a retry would get the same one.
func refused(err error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Status < 500
}

// Revision returns the revision from which the watch would continue.
func (w *Watch) Revision() int64 { return w.opts.Since }

// Close ends the watch; a Next that waits returns.
func (w *Watch) Close() { w.cancel() }
