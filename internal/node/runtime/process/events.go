//go:build linux

package process

import (
	"context"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
	"tend.dev/tend/internal/platform/recovery"
)

// streamRoom is the number of events buffered for a slow reader. A reader that falls further behind loses its stream,
// and so knows that it must list again.
const streamRoom = 1024

// events sends events to every reader.
type events struct {
	mu      sync.Mutex
	streams map[chan runtime.Event]struct{}
}

func newEvents() *events { return &events{streams: map[chan runtime.Event]struct{}{}} }

func (e *events) open() chan runtime.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	stream := make(chan runtime.Event, streamRoom)
	e.streams[stream] = struct{}{}
	return stream
}

func (e *events) emit(event runtime.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for stream := range e.streams {
		select {
		case stream <- event:
		default:
			e.closeLocked(stream)
		}
	}
}

func (e *events) close(stream chan runtime.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closeLocked(stream)
}

func (e *events) closeLocked(stream chan runtime.Event) {
	if _, open := e.streams[stream]; open {
		delete(e.streams, stream)
		close(stream)
	}
}

// Events implements runtime.Runtime.
func (r *Runtime) Events(ctx context.Context) (<-chan runtime.Event, error) {
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	stream := r.events.open()
	r.work.Go(func() {
		select {
		case <-ctx.Done():
		case <-r.ctx.Done():
		}
		r.events.close(stream)
	})
	return stream, nil
}

func eventOf(record shim.Record, kind runtime.EventKind) runtime.Event {
	return runtime.Event{
		Kind: kind, Container: record.ID, Name: record.Name, Task: record.Labels[api.LabelTask], At: time.Now(),
	}
}

// watch forwards a shim's events until the shim ends. If it ends without a message, the shim was killed and its program
// died with it; watch then kills what the program left behind.
func (r *Runtime) watch(dir string, record shim.Record, conn *shim.Conn, reap func()) {
	r.work.Go(func() {
		stop := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
		defer stop()
		for {
			message, err := conn.Next()
			if err != nil {
				break
			}
			_ = recovery.Call(func() error { r.pass(record, message); return nil }, "container", record.ID)
		}
		_ = conn.Close()
		if r.ctx.Err() != nil {
			return
		}
		reap()
		r.lost(dir, record)
	})
}

func (r *Runtime) pass(record shim.Record, message shim.Message) {
	if message.Event == "" {
		return
	}
	event := eventOf(record, message.Event)
	event.Signal, event.ExitCode, event.At = message.Signal, message.ExitCode, message.At
	if message.Event == runtime.EventDie {
		r.shells.end(record.ID)
	}
	r.events.emit(event)
}

// lost reports the end of a container whose shim did not report it.
func (r *Runtime) lost(dir string, record shim.Record) {
	unlock, err := r.locks.lock(r.ctx, record.ID)
	if err != nil {
		return
	}
	defer unlock()
	status, err := shim.ReadStatus(dir)
	if err != nil || !status.Abandoned {
		return
	}
	_ = bury(dir, record)
	r.pass(record, shim.Message{Event: runtime.EventDie, ExitCode: status.ExitCode, At: time.Now()})
}
