package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// goneGrace bounds the wait for the view's answer that its history no longer reaches back to the requested revision.
// The error is then an HTTP 410 instead of a line of the stream; both mean the same.
const goneGrace = 20 * time.Millisecond

// watch streams the changes of objects and their statuses. Without since it begins with all existing objects.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, wanted objectFilter, since int64) {
	ctx, end, err := s.openStream(r.Context(), "watch")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	s.settle(ctx, since) // a revision that was just answered may lie ahead of the view
	snap, err := s.snapshot()
	if err == nil && since > snap.Revision() {
		err = &api.Problem{Status: http.StatusGone, Next: "list again, and watch from the list's revision",
			Detail: "this server is at revision " + strconv.FormatInt(snap.Revision(), 10) + "; it can't watch from " +
				strconv.FormatInt(since, 10)}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	from := since
	if since == 0 {
		from = snap.Revision()
	}
	changes := s.View.Watch(ctx, view.WatchOptions{From: from + 1, Match: wanted.concerns})
	stream := &watchStream{server: s, out: newLines(w, r), wanted: wanted, revision: from}
	if since == 0 && stream.list(snap) != nil {
		return
	}
	if err := stream.follow(ctx, changes); err != nil && !stream.out.begun {
		s.fail(w, r, err)
	}
}

// concerns reports whether a change is one of the selected objects or statuses. It runs on the view's feeding
// goroutine.
func (f objectFilter) concerns(c view.Change) bool {
	_, ok := f.refOf(c.Key)
	return ok
}

func (f objectFilter) refOf(key string) (api.Ref, bool) {
	for _, prefix := range []string{records.DesiredPrefix, records.StatusPrefix} {
		path, found := strings.CutPrefix(key, prefix)
		if !found || !strings.HasPrefix(path, string(f.kind)+"/") {
			continue
		}
		ref, rest, ok := records.ParseRef(path)
		return ref, ok && rest == "" && f.within(ref.Scope)
	}
	return api.Ref{}, false
}

// watchStream is a watch's stream to one reader.
type watchStream struct {
	server *Server
	out    *lines
	wanted objectFilter
	// revision is the one up to which everything was sent, except in a listing, where it is 0: the client resumes from
	// there.
	revision int64
}

func (t *watchStream) send(event api.WatchEvent) error {
	event.Revision = t.revision
	return t.out.send(strconv.FormatInt(t.revision, 10), event)
}

// list begins a watch with the existing objects. Only the bookmark at its end carries the revision: a client that
// resumes from there has seen them all.
func (t *watchStream) list(snap records.Snapshot) error {
	t.revision = 0
	for _, object := range t.wanted.list(snap) {
		if err := t.send(api.WatchEvent{Type: api.WatchPut, Object: &object}); err != nil {
			return err
		}
	}
	t.revision = snap.Revision()
	return t.send(api.WatchEvent{Type: api.WatchBookmark})
}

// follow sends changes until the watch ends, and returns the reason.
func (t *watchStream) follow(ctx context.Context, watch *view.Watch) error {
	heartbeat := time.NewTicker(t.server.Heartbeat)
	defer heartbeat.Stop()
	grace := time.NewTimer(goneGrace)
	defer grace.Stop()
	for {
		var err error
		select {
		case changes, open := <-watch.Changes():
			if !open {
				return t.finish(ctx, watch.Err())
			}
			err = t.batch(changes)
		case <-grace.C:
			err = t.out.begin()
		case <-heartbeat.C:
			err = t.send(api.WatchEvent{Type: api.WatchBookmark})
		}
		if err != nil {
			return err
		}
	}
}

// batch sends what one commit changed: each object once, in its newest form. Only the last line carries the commit's
// revision. A client that resumes after an earlier one gets the whole commit again, and misses nothing of it.
func (t *watchStream) batch(changes []view.Change) error {
	snap := records.Snapshot{Reader: t.server.View.Snapshot()}
	var held func() error
	for _, change := range t.perObject(changes) {
		line := t.lineOf(snap, change)
		if line == nil {
			continue
		}
		if held != nil {
			if err := held(); err != nil {
				return err
			}
		}
		held = line
	}
	t.revision = max(t.revision, changes[0].Revision)
	if held == nil {
		return nil
	}
	return held()
}

// perObject returns one change of each object: that of the object itself rather than that of its status, since only the
// former says what it was before.
func (t *watchStream) perObject(changes []view.Change) []view.Change {
	at := make(map[api.Ref]int, len(changes))
	var out []view.Change
	for _, change := range changes {
		ref, _ := t.wanted.refOf(change.Key)
		i, known := at[ref]
		switch {
		case !known:
			at[ref] = len(out)
			out = append(out, change)
		case strings.HasPrefix(change.Key, records.DesiredPrefix):
			out[i] = change
		}
	}
	return out
}

// lineOf returns the function that sends an object's line with the revision of that moment; nil if there is nothing to
// send.
func (t *watchStream) lineOf(snap records.Snapshot, change view.Change) func() error {
	ref, _ := t.wanted.refOf(change.Key)
	bare := &api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name}
	deleted := func() error { return t.send(api.WatchEvent{Type: api.WatchDelete, Object: bare}) }
	read := snap.Object(ref)
	switch {
	case !read.Exists() && change.Deleted && strings.HasPrefix(change.Key, records.DesiredPrefix):
		return deleted
	case !read.Exists():
		return nil // the event of its deletion follows
	case t.wanted.wants(*read.Value):
		return func() error {
			event, err := t.server.events.put(snap, read, t.revision)
			if err != nil {
				return err
			}
			return t.out.sendEncoded(strconv.FormatInt(t.revision, 10), event)
		}
	}
	// It may have matched before its labels changed. Reporting the deletion of an object that the client doesn't know does
	// no harm.
	if old, ok := change.Old.(*api.Object); ok && t.wanted.wants(*old) {
		return deleted
	}
	return nil
}

// finish sends the client the reason why the stream ends. If the stream hasn't begun, the caller answers instead.
func (t *watchStream) finish(ctx context.Context, err error) error {
	if ended := endOf(ctx); ended != nil {
		err = ended
	}
	if t.out.begun {
		_ = t.send(api.WatchEvent{Type: api.WatchError, Problem: problemOf(err)})
	}
	return err
}
