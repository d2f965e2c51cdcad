package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/eventlog"
)

// followEvents streams events from a position on. The server keeps only the position of a reader: a slow one is served
// from the store, until the log no longer has the position.
func (s *Server) followEvents(w http.ResponseWriter, r *http.Request, request eventRequest) {
	ctx, end, err := s.openStream(r.Context(), "events")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	stream := &eventStream{request: request, out: newLines(w, r), position: request.query.After}
	heartbeat := time.NewTicker(s.Heartbeat)
	defer heartbeat.Stop()
	if err := stream.follow(ctx, heartbeat.C); err != nil {
		if ended := endOf(ctx); ended != nil {
			err = ended
		}
		if !stream.out.begun {
			s.fail(w, r, err)
			return
		}
		_ = stream.send(api.EventError, problemOf(err))
	}
}

// eventStream is a stream of events to one reader.
type eventStream struct {
	request  eventRequest
	out      *lines
	position eventlog.Position
}

// follow sends events until the stream ends, and returns the reason. A bookmark carries the reader's position: at the
// beginning, after events that its filter left out, and as a sign of life.
func (t *eventStream) follow(ctx context.Context, heartbeat <-chan time.Time) error {
	for bookmark := true; ; {
		changed := t.request.log.Changed()
		t.request.query.After = t.position
		page, err := t.request.log.Read(ctx, t.request.query)
		if err != nil {
			return eventFault(err)
		}
		for _, e := range page.Events {
			if !t.request.wanted.wants(e) {
				continue
			}
			if err := t.out.send(e.ID, e); err != nil {
				return err
			}
		}
		t.position = page.Next
		if page.More {
			continue
		}
		if bookmark {
			if err := t.send(api.EventBookmark, nil); err != nil {
				return err
			}
		}
		select {
		case <-changed:
			bookmark = false
		case <-heartbeat:
			bookmark = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send sends a message that isn't an event of the log.
func (t *eventStream) send(kind string, data any) error {
	item := api.Event{SpecVersion: api.EventSpecVersion, ID: t.position.String(), Type: kind, Source: "/tend/stream",
		Time: time.Now().UTC()}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			return err
		}
		item.Data, item.DataContentType = raw, "application/problem+json"
	}
	return t.out.send(item.ID, item)
}
