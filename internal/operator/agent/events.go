package agent

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tend.dev/tend/api/pull"
)

// The bounds of events: how often they are sent, and how many wait.
const (
	flushEvery = time.Second
	maxBuffer  = 1000
	// lastFlush is the time for what waits when the agent ends.
	lastFlush = 5 * time.Second
)

// buffer holds the events that wait to be sent, oldest first.
type buffer struct {
	mu     sync.Mutex
	events []pull.Event
	// dropped counts those that had no room, or are too large to be sent, since the buffer was empty last. lacking is whether any had
	// no room: to send one again that is too large is of no use.
	dropped int
	lacking bool
	// full holds a token once a whole batch waits.
	full chan struct{}
}

func newBuffer() *buffer { return &buffer{full: make(chan struct{}, 1)} }

// add adds an event at the end; the oldest is dropped if there is no room.
func (b *buffer) add(event pull.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
	b.trim()
	if len(b.events) >= pull.MaxEvents {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
}

func (b *buffer) trim() {
	if over := len(b.events) - maxBuffer; over > 0 {
		b.dropped, b.lacking = b.dropped+over, true
		b.events = append([]pull.Event(nil), b.events[over:]...)
	}
}

// take removes the next batch, which the control plane accepts as one request, and what is too large for one by itself.
func (b *buffer) take() (batch, tooLarge []pull.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	envelope, n := sizeOf(pull.Events{Events: []pull.Event{}}), 0
	for body := envelope; n < len(b.events) && len(batch) < pull.MaxEvents; n++ {
		size := sizeOf(b.events[n]) + len(",")
		if envelope+size > pull.MaxBody {
			tooLarge = append(tooLarge, b.events[n])
			continue
		}
		if body += size; body > pull.MaxBody {
			break
		}
		batch = append(batch, b.events[n])
	}
	b.events = b.events[n:]
	b.dropped += len(tooLarge)
	return batch, tooLarge
}

// sizeOf returns the bytes of a value as it is sent.
func sizeOf(value any) int {
	text, _ := json.Marshal(value) // it consists of texts, numbers and times
	return len(text)
}

// putBack puts a batch that was not sent in front of what came since.
func (b *buffer) putBack(batch []pull.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(batch, b.events...)
	b.trim()
}

// sent says that a batch arrived. It reports whether none waits any more, and some had no room before.
func (b *buffer) sent() (lacking bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) == 0 {
		lacking, b.lacking, b.dropped = b.lacking, false, 0
	}
	return lacking
}

// state returns how many events wait, and how many were dropped.
func (b *buffer) state() (waiting, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events), b.dropped
}

// Emit has an event sent with the next batch.
func (a *Agent) Emit(event pull.Event) { a.buffer.add(event) }

// Buffered returns how many events wait, and how many were dropped for lack of room since none waited last.
func (a *Agent) Buffered() (waiting, dropped int) { return a.buffer.state() }

// sendEvents sends what waits once a second, or as soon as a batch is full, until ctx ends; then it sends the rest.
func (a *Agent) sendEvents(ctx context.Context) error {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	again := newBackoff(a.Jitter)
	for {
		select {
		case <-ticker.C:
		case <-a.buffer.full:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			_, _ = a.flush(last) // what can't be sent is observed again after a restart
			return nil
		}
		failed, err := a.flush(ctx)
		if err != nil {
			return err
		}
		if failed == nil {
			again.reset()
		} else if rest(ctx, again.after(failed)) != nil {
			continue // ctx has ended
		}
	}
}

// flush sends all that waits. failed is an error that may pass; err ends the agent.
func (a *Agent) flush(ctx context.Context) (failed, err error) {
	for {
		batch, tooLarge := a.buffer.take()
		for _, event := range tooLarge {
			a.Logger.WarnContext(ctx, "an event is too large for a request, and is dropped",
				"kind", event.ResourceRef.Kind, "name", event.ResourceRef.Name)
		}
		if len(batch) == 0 {
			return nil, nil
		}
		err := a.request(ctx, func(token string) error { return a.client.Events(ctx, token, batch) })
		switch {
		case err == nil:
			if a.buffer.sent() {
				a.Overflowed()
			}
		case isEnd(err):
			return nil, err
		case passes(err):
			a.buffer.putBack(batch)
			return err, nil
		default:
			a.Logger.WarnContext(ctx, "events were refused, and are dropped", "count", len(batch), "error", err)
		}
	}
}
