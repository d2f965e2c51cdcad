package hollow

import (
	"context"
	"sync"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// stream is one reader of events. Events are queued, so that a slow reader never blocks the engine.
type stream struct {
	owns  func(*container) bool
	mu    sync.Mutex
	queue []runtime.Event
	ended bool
	wake  chan struct{}
}

func newStream(owns func(*container) bool) *stream {
	return &stream{owns: owns, wake: make(chan struct{}, 1)}
}

func (s *stream) push(event runtime.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, event)
	s.signal()
}

// end closes the stream after the reader has received the queued events.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stream) take() (events []runtime.Event, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, s.queue = s.queue, nil
	return events, s.ended
}

// run delivers events until the context or the stream ends.
func (s *stream) run(ctx context.Context, out chan<- runtime.Event) {
	defer close(out)
	for {
		events, ended := s.take()
		for _, event := range events {
			select {
			case out <- event:
			case <-ctx.Done():
				return
			}
		}
		if ended {
			return
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// Events implements runtime.Runtime.
func (r *Runtime) Events(ctx context.Context) (<-chan runtime.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := r.checkLocked(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(r.closed, cancel)
	s := newStream(r.owns)
	e.streams[s] = struct{}{}
	out := make(chan runtime.Event)
	go func() {
		defer cancel()
		defer forget()
		s.run(ctx, out)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.streams, s)
	}()
	return out, nil
}

func (e *Engine) endStreamsLocked() {
	for s := range e.streams {
		s.end()
	}
	clear(e.streams)
}

// emitLocked records an event of a container and sends it to its cluster's readers.
func (e *Engine) emitLocked(c *container, event runtime.Event) {
	event.At = time.Now()
	event.Container, event.Name, event.Task = c.id, c.name, c.task()
	record := Record{
		At: event.At, Event: event.Kind, Container: c.name, Labels: c.labels,
		ExitCode: event.ExitCode, Signal: event.Signal, Spec: &c.spec, ImageID: c.imageID, ID: c.id,
	}
	if e.log.observe != nil {
		e.log.observe(record)
	} else {
		e.log.records = append(e.log.records, record)
	}
	for s := range e.streams {
		if s.owns(c) {
			s.push(event)
		}
	}
}

// emitImageLocked reports to every stream that a reference changed.
func (e *Engine) emitImageLocked(reference string) {
	event := runtime.Event{Kind: runtime.EventImage, Image: reference, At: time.Now()}
	for s := range e.streams {
		s.push(event)
	}
}
