package runtimetest

import (
	"context"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

func testEvents(f *fixture) {
	watch := f.watch(f.runtime)
	container := f.start(f.spec("exit", "4"))
	task := container.Task()
	created, started, died := watch.next(runtime.EventCreate, task), watch.next(runtime.EventStart, task),
		watch.next(runtime.EventDie, task)
	f.inState(container.ID, runtime.StateExited)
	f.noError("remove", f.runtime.Remove(f.Context(), container.ID))
	destroyed := watch.next(runtime.EventDestroy, task)
	for _, event := range []runtime.Event{created, started, died, destroyed} {
		if event.Container != container.ID || event.Name != container.Name || event.At.IsZero() {
			f.Errorf("event %+v does not name container %s (%s) or a time", event, container.ID, container.Name)
		}
	}
	if died.ExitCode != 4 {
		f.Errorf("die event with exit code %d, want 4", died.ExitCode)
	}
	for _, event := range watch.seen {
		if event.Kind == runtime.EventKill || event.Kind == runtime.EventStop {
			f.Errorf("a container that ended by itself has event %+v", event)
		}
	}
}

// testStopEvents: the events of a stop through the engine differ from those of a container that ends by itself.
func testStopEvents(f *fixture) {
	watch := f.watch(f.runtime)
	container := f.start(f.spec())
	f.ready(container.ID)
	f.noError("stop", f.runtime.Stop(f.Context(), container.ID, f.Patience))
	if kill := watch.next(runtime.EventKill, container.Task()); kill.Signal == "" {
		f.Errorf("kill event %+v without its signal", kill)
	}
	watch.next(runtime.EventDie, container.Task())
	watch.next(runtime.EventStop, container.Task())
}

func testEventsOfOthers(f *fixture) {
	watch := f.watch(f.other())
	foreign := f.start(f.spec())
	f.noError("remove", f.runtime.Remove(f.Context(), foreign.ID))
	select {
	case event, ok := <-watch.events:
		if !ok || event.Kind != runtime.EventImage {
			f.Errorf("the other cluster saw %+v (open %v)", event, ok)
		}
	case <-time.After(200 * time.Millisecond):
	}
}

func testEventsEnd(f *fixture) {
	ctx, cancel := context.WithCancel(f.Context())
	events, err := f.runtime.Events(ctx)
	f.noError("events", err)
	cancel()
	deadline := time.After(f.Patience)
	for {
		select {
		case _, open := <-events:
			if !open {
				return
			}
		case <-deadline:
			f.Fatal("the events did not end with their context")
		}
	}
}

func testKill(f *fixture) {
	watch := f.watch(f.runtime)
	container := f.start(f.spec())
	f.Kill(f.T, f.inState(container.ID, runtime.StateRunning))
	if died := watch.next(runtime.EventDie, container.Task()); died.ExitCode != 137 {
		f.Errorf("die event with exit code %d, want 137", died.ExitCode)
	}
	if ended := f.inState(container.ID, runtime.StateExited); ended.ExitCode != 137 {
		f.Errorf("exit code %d, want 137", ended.ExitCode)
	}
}
