package runtimetest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// cleanUp removes every container of the cluster, then closes the runtime.
func cleanUp(t *testing.T, rt runtime.Runtime) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	containers, err := rt.List(ctx)
	if err != nil {
		t.Errorf("clean up: list: %v", err)
	}
	for _, container := range containers {
		if err := rt.Remove(ctx, container.ID); err != nil {
			t.Errorf("clean up: remove %s: %v", container.Name, err)
		}
	}
	if err := rt.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func (f *fixture) create(spec runtime.ContainerSpec) runtime.Container {
	f.Helper()
	container, err := f.runtime.Create(f.Context(), spec)
	if err != nil {
		f.Fatalf("create: %v", err)
	}
	return container
}

func (f *fixture) start(spec runtime.ContainerSpec) runtime.Container {
	f.Helper()
	container := f.create(spec)
	if err := f.runtime.Start(f.Context(), container.ID); err != nil {
		f.Fatalf("start: %v", err)
	}
	return container
}

// inState waits until the container is in the state and returns it.
func (f *fixture) inState(id string, want runtime.State) runtime.Container {
	f.Helper()
	var seen runtime.Container
	f.eventually("state "+string(want), func() bool {
		container, err := f.runtime.Inspect(f.Context(), id)
		if err != nil {
			f.Fatalf("inspect: %v", err)
		}
		seen = container
		return container.State == want
	})
	return seen
}

// eventually waits until the condition holds.
func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	deadline := time.After(f.Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			f.Fatalf("%s did not come within %s", what, f.Patience)
		}
	}
}

// wantError fails unless err is the sentinel.
func (f *fixture) wantError(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// noError ends the case on an error.
func (f *fixture) noError(what string, err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

// lines reads logs to their end.
func (f *fixture) lines(id string, opts runtime.LogOptions) []runtime.LogLine {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), f.Patience)
	defer cancel()
	reader, err := f.runtime.Logs(ctx, id, opts)
	f.noError("logs", err)
	defer reader.Close()
	var lines []runtime.LogLine
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		f.noError("read logs", err)
		lines = append(lines, line)
	}
}

func texts(lines []runtime.LogLine) []string {
	var out []string
	for _, line := range lines {
		out = append(out, line.Text)
	}
	return out
}

// watch starts an event stream that ends with the case.
func (f *fixture) watch(rt runtime.Runtime) *watcher {
	f.Helper()
	events, err := rt.Events(f.Context())
	f.noError("events", err)
	return &watcher{fixture: f, events: events}
}

// watcher keeps the events that it skipped: cases ask for events in any order.
type watcher struct {
	*fixture
	events <-chan runtime.Event
	seen   []runtime.Event
}

// next returns the first event, seen or to come, of the kind and task.
func (w *watcher) next(kind runtime.EventKind, task string) runtime.Event {
	w.Helper()
	for _, event := range w.seen {
		if event.Kind == kind && event.Task == task {
			return event
		}
	}
	deadline := time.After(w.Patience)
	for {
		select {
		case event, ok := <-w.events:
			if !ok {
				w.Fatalf("the events ended before %s of %s", kind, task)
			}
			w.seen = append(w.seen, event)
			if event.Kind == kind && event.Task == task {
				return event
			}
		case <-deadline:
			w.Fatalf("no %s of %s came within %s; seen: %v", kind, task, w.Patience, w.seen)
		}
	}
}
