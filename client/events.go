package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// EventOptions select events. The zero value selects all.
type EventOptions struct {
	Kind        api.Kind
	Scope, Name string
	// Types are whole types (deployment.updated), or actions of any kind (updated).
	Types []string
	// Actor is the user who made a change or a call.
	Actor string
	// Since is the position to continue from: the id of an event, or "oldest". Empty: a listing begins with the oldest
	// event, Events with the next one.
	Since string
	// Audit reads the log of calls instead of the log of changes.
	Audit bool
	// Limit is the maximal number of events of a listing; default 500. Last lists the newest ones.
	Limit int
	Last  bool
	// Silence is the time without a sign of life after which a stream is opened again. Default 1 min.
	Silence time.Duration
}

func (o EventOptions) request() request {
	path := "/v1/events"
	if o.Audit {
		path = "/v1/audit"
	}
	return request{method: http.MethodGet, path: path, query: o.query()}
}

func (o EventOptions) query() url.Values {
	return queryWith("kind", string(o.Kind), "scope", o.Scope, "name", o.Name, "type", strings.Join(o.Types, ","), "actor",
		o.Actor, "since", o.Since)
}

// ListEvents reads a part of the log. IsGone means that events after Since are no longer kept.
func (c *Client) ListEvents(ctx context.Context, opts EventOptions) (api.EventPage, error) {
	r := opts.request()
	r.query.Set("follow", "0")
	if opts.Limit > 0 {
		r.query.Set("limit", strconv.Itoa(opts.Limit))
	}
	if opts.Last {
		r.query.Set("last", "1")
	}
	return call[api.EventPage](ctx, c, r)
}

// Events follows the log across cut connections and restarts of the server, without missing or repeating an event.
type Events struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	opts   EventOptions
	stream *stream
}

// Events begins to follow; the first connection is made by the first Next. Close it.
func (c *Client) Events(ctx context.Context, opts EventOptions) *Events {
	if opts.Silence <= 0 {
		opts.Silence = time.Minute
	}
	ctx, cancel := context.WithCancel(ctx)
	return &Events{client: c, ctx: ctx, cancel: cancel, opts: opts}
}

// Next returns the next event. A cut connection is opened again from where it was; IsGone means that events after that
// are no longer kept. Any other error is the server's refusal or the context's end.
func (e *Events) Next() (api.Event, error) {
	return persist(e.ctx, e.step, func(event api.Event) bool { return event.Type != api.EventBookmark })
}

// step reads one item, and connects first if there is no connection. After an error there is none.
func (e *Events) step() (event api.Event, err error) {
	defer func() {
		if err != nil && e.stream != nil {
			_ = e.stream.Close()
			e.stream = nil
		}
	}()
	if e.stream == nil {
		if e.stream, err = e.client.openStream(e.ctx, e.opts.request(), e.opts.Silence); err != nil {
			return event, err
		}
	}
	if err := e.stream.next(&event); err != nil {
		return event, err
	}
	if event.Type == api.EventError {
		problem := &api.Problem{}
		if err := json.Unmarshal(event.Data, problem); err != nil {
			return event, fmt.Errorf("read the end of the stream: %w", err)
		}
		return event, problem
	}
	e.opts.Since = event.ID
	return event, nil
}

// Position returns the position from which Next continues.
func (e *Events) Position() string { return e.opts.Since }

// Close ends the following; a Next that waits returns.
func (e *Events) Close() { e.cancel() }
