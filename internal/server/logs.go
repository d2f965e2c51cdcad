package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// logsOf selects the output to return.
type logsOf struct {
	owner api.Ref
	// slot selects one pod; empty is all pods of the owner.
	slot string
	// run selects the pods of one run; begun those created since a run was requested.
	run   string
	begun time.Time
	// init selects an init container of each pod instead of the pod's own container.
	init string
	opts container.LogOptions
	// previous selects earlier output: for an object the earlier attempts at its newest release, or else the pods that its
	// pods replaced; for a pod the one before it; for a run its removed pods.
	previous bool
	// pod and container select among those of a Kubernetes cluster.
	pod, container string
}

func (l logsOf) wants(t *api.Task) bool {
	switch {
	case l.slot != "":
		return l.slot == t.Slot && !t.CreatedAt.Before(l.begun)
	case l.run != "":
		return l.run == t.Run && !t.CreatedAt.Before(l.begun)
	}
	// the output of a release's commands is requested by pod or run
	return t.Role == api.RoleMain && !t.CreatedAt.Before(l.begun)
}

func (s *Server) podLogs(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	wanted := logsOf{init: q.text("init"), opts: logOptions(q), previous: q.boolean("previous")}
	err := errors.Join(q.done(), wanted.checkPrevious())
	var snap records.Snapshot
	if err == nil {
		snap, err = s.snapshot()
	}
	if err == nil {
		wanted.owner, wanted.slot, err = wanted.podOf(snap, r.PathValue("pod"))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if err := wanted.checkInit(snap); err != nil {
		s.fail(w, r, err)
		return
	}
	s.streamLogs(w, r, snap, wanted)
}

func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	named := TargetQuery{Kind: q.text("kind"), Scope: q.text("scope"), Name: q.text("name")}
	wanted := logsOf{run: q.text("run"), init: q.text("init"), opts: logOptions(q), previous: q.boolean("previous"),
		pod: q.text("pod"), container: q.text("container")}
	err := errors.Join(q.done(), wanted.checkPrevious())
	var target verbs.Target
	if err == nil {
		target, err = named.target()
	}
	var snap records.Snapshot
	if err == nil {
		snap, err = s.snapshot()
	}
	if err == nil {
		wanted.owner, err = target.Resolve(snap)
	}
	if err == nil && wanted.owner.Kind == api.KindApplicationInstance {
		s.clusterLogs(w, r, wanted)
		return
	}
	if err == nil {
		err = wanted.checkHere()
	}
	if err == nil && !wanted.previous { // the record of a run may be deleted before its output
		err = wanted.chooseRun(snap)
	}
	if err == nil {
		err = wanted.checkInit(snap)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.streamLogs(w, r, snap, wanted)
}

func logOptions(q *query) container.LogOptions {
	return container.LogOptions{Follow: q.boolean("follow"), Tail: int(q.integer("tail", -1, 0)), Since: q.moment("since")}
}

func (s *Server) streamLogs(w http.ResponseWriter, r *http.Request, snap records.Snapshot, wanted logsOf) {
	ctx, end, err := s.openStream(r.Context(), "logs")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	out := newLines(w, r)
	switch {
	case wanted.previous:
		err = s.previousLogs(ctx, out, snap, wanted)
	case wanted.opts.Follow:
		err = s.followLogs(ctx, out, wanted)
	default:
		err = s.mergeLogs(ctx, out, snap, wanted)
	}
	switch {
	case endOf(ctx) != nil:
		_ = out.send("", api.LogLine{Error: problemOf(endOf(ctx))})
	case err != nil && !out.begun:
		s.fail(w, r, err)
	case err == nil:
		_ = out.begin()
	}
}

// head is the next line of one pod.
type head struct {
	pod    string
	reader container.LogReader
	line   container.LogLine
}

// mergeLogs writes the existing output of the pods, ordered by time.
func (s *Server) mergeLogs(ctx context.Context, out *lines, snap records.Snapshot, wanted logsOf) error {
	var heads []*head
	defer func() {
		for _, h := range heads {
			h.reader.Close()
		}
	}()
	var failure error
	var unread []api.LogLine
	for _, task := range snap.TasksOf(wanted.owner) {
		if !wanted.wants(task.Value) {
			continue
		}
		for _, from := range wanted.sources(snap, task.Value) {
			reader, err := s.read(ctx, from, wanted.opts)
			if err == nil {
				heads = append(heads, &head{pod: from.pod, reader: reader})
				continue
			}
			if wanted.slot == "" && absent(err) {
				continue // the container of one of several pods doesn't exist yet, or any more
			}
			if failure = err; !absent(err) {
				unread = append(unread, api.LogLine{Pod: from.pod, Error: problemOf(err)})
			}
		}
	}
	if len(heads) == 0 {
		return wanted.nothing(failure)
	}
	return drainAll(out, unread, heads)
}

// drainAll says first which output is missing, since a reader may not come to the end, then merges what there is.
func drainAll(out *lines, missing []api.LogLine, heads []*head) error {
	for _, line := range missing {
		if err := out.send("", line); err != nil {
			return err
		}
	}
	return drainByTime(out, heads)
}

// read opens the output of a source.
func (s *Server) read(ctx context.Context, from source, opts container.LogOptions) (container.LogReader, error) {
	on, err := s.Nodes.Node(from.node)
	if err != nil {
		return nil, err
	}
	return on.Logs(ctx, from.id, opts)
}

// drainByTime merges the lines of several pods in the order of their times.
func drainByTime(out *lines, heads []*head) error {
	live := make([]*head, 0, len(heads))
	for _, h := range heads {
		if more, err := h.advance(out); err != nil {
			return err
		} else if more {
			live = append(live, h)
		}
	}
	for len(live) > 0 {
		first := 0
		for i, h := range live {
			if h.line.At.Before(live[first].line.At) {
				first = i
			}
		}
		h := live[first]
		more, err := h.putLine(out)
		if err != nil {
			return err
		}
		if !more {
			live = append(live[:first], live[first+1:]...)
		}
	}
	return nil
}

// putLine writes the current line with all its parts, and reads the next one.
func (h *head) putLine(out *lines) (more bool, err error) {
	for part := true; part; {
		part = h.line.Part
		if err := out.send("", lineOf(h.pod, h.line)); err != nil {
			return false, err
		}
		if more, err = h.advance(out); !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// advance reads the next line. If the reader fails, advance writes that to the stream and ends the pod's part of it.
func (h *head) advance(out *lines) (more bool, err error) {
	h.line, err = h.reader.Next()
	if err == nil {
		return true, nil
	}
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return false, out.send("", api.LogLine{Pod: h.pod, Error: problemOf(err)})
}

func lineOf(pod string, line container.LogLine) api.LogLine {
	return api.LogLine{Pod: pod, Stream: line.Stream, At: line.At.UTC().Truncate(time.Nanosecond),
		Text: line.Text, Part: line.Part}
}
