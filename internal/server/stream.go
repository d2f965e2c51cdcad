package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/recovery"
)

// isDrained lists the streams that may continue while the server drains: a half-done command, and its output. A wait
// isn't cut either: it ends by itself, with an answer.
var isDrained = map[string]bool{"exec": true, "logs": true, "wait": true}

// openStream counts a stream and gives it a context that also ends when the server does. The returned function must be
// called at the end.
func (s *Server) openStream(ctx context.Context, kind string) (context.Context, func(), error) {
	token := callerOf(ctx).grant.Name
	if err := s.streams.begin(token, s.MaxStreams); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.open.Add(1)
	s.metrics.streams.WithLabelValues(kind).Inc()
	ending := s.closing
	if isDrained[kind] {
		ending = s.cutting
	}
	recovery.Go(func() {
		select {
		case <-ending:
			cancel(errClosing)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		s.streams.end(token)
		s.metrics.streams.WithLabelValues(kind).Dec()
		s.open.Done()
	}, nil
}

// endOf returns the reason why the server ends a request, a shutdown or the end of the request's token, or nil.
func endOf(ctx context.Context) error {
	if problem, ok := errors.AsType[*api.Problem](context.Cause(ctx)); ok {
		return problem
	}
	return nil
}

// errClosing is the error with which a stream ends when the server shuts down.
var errClosing = &api.Problem{Title: "Service Unavailable", Status: http.StatusServiceUnavailable,
	Detail: "the server is shutting down", Next: "connect again"}

// lines writes JSON values, one a line or as server-sent events, and flushes each. A reader that accepts nothing within
// a request's time is cut off. Safe for concurrent use.
type lines struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	sse     bool
	begun   bool
}

func newLines(w http.ResponseWriter, r *http.Request) *lines {
	control := http.NewResponseController(w)
	// The read deadline would end the stream: the server reads on to notice a client that goes.
	_ = control.SetReadDeadline(time.Time{})
	return &lines{w: w, control: control, sse: strings.Contains(r.Header.Get("Accept"), "text/event-stream")}
}

// begin sends the header, so that the client knows that the stream is open.
func (l *lines) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beginLocked()
}

func (l *lines) beginLocked() error {
	if l.begun {
		return nil
	}
	l.begun = true
	contentType := "application/jsonl"
	if l.sse {
		contentType = "text/event-stream"
	}
	l.w.Header().Set("Content-Type", contentType)
	l.w.Header().Set("Cache-Control", "no-store")
	l.w.WriteHeader(http.StatusOK)
	_ = l.control.SetWriteDeadline(time.Now().Add(requestTime))
	return l.control.Flush()
}

// send writes one value. Server-sent events can resume from id, if it isn't empty.
func (l *lines) send(id string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return l.sendEncoded(id, encoded)
}

// sendEncoded writes a value that is JSON already.
func (l *lines) sendEncoded(id string, encoded []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.beginLocked(); err != nil {
		return err
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(requestTime))
	before, after := "", "\n"
	if l.sse {
		before, after = "data: ", "\n\n"
		if id != "" {
			before = "id: " + id + "\ndata: "
		}
	}
	for _, part := range [][]byte{[]byte(before), encoded, []byte(after)} {
		if _, err := l.w.Write(part); err != nil {
			return err
		}
	}
	return l.control.Flush()
}
