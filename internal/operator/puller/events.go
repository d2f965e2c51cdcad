package puller

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/platform/delay"
)

// The bounds of events: how long one waits for others of its batch, and how many events may wait.
const (
	gather    = 200 * time.Millisecond
	maxBuffer = 1000
	// lastFlush bounds the time for sending the waiting events when the puller ends.
	lastFlush = 5 * time.Second
)

// buffer holds the events that wait to be sent, oldest first.
type buffer struct {
	mu     sync.Mutex
	events []pull.Event
	// dropped counts the events that had no room, or are too large to send, since the buffer was last empty. lacking says
	// whether any had no room: sending a too large one again would be useless.
	dropped int
	lacking bool
	// some holds a token if an event waits, full if a whole batch does.
	some, full chan struct{}
}

func newBuffer() *buffer { return &buffer{some: make(chan struct{}, 1), full: make(chan struct{}, 1)} }

// add appends an event. If there is no room, it drops the oldest.
func (b *buffer) add(event pull.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
	b.trim()
	notify(b.some)
	if len(b.events) >= pull.MaxEvents {
		notify(b.full)
	}
}

// notify puts a token into a channel that has room for one.
func notify(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func (b *buffer) trim() {
	if over := len(b.events) - maxBuffer; over > 0 {
		b.dropped, b.lacking = b.dropped+over, true
		b.events = append([]pull.Event(nil), b.events[over:]...)
	}
}

// take removes the next batch, which fits into one request, and the events that are too large for any request. more is
// set if other events already wait.
func (b *buffer) take() (batch, tooLarge []pull.Event, more bool) {
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
	return batch, tooLarge, len(b.events) > 0
}

// sizeOf returns the size of a value's JSON in bytes.
func sizeOf(value any) int {
	text, _ := json.Marshal(value) // can't fail: only texts, numbers and times
	return len(text)
}

// putBack puts a batch that was not sent before the newer events.
func (b *buffer) putBack(batch []pull.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(batch, b.events...)
	b.trim()
	notify(b.some)
}

// sent records that a batch arrived. It reports whether no event waits any more and some had no room before.
func (b *buffer) sent() (lacking bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) == 0 {
		lacking, b.lacking, b.dropped = b.lacking, false, 0
	}
	return lacking
}

// state returns how many events wait and how many were dropped.
func (b *buffer) state() (waiting, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events), b.dropped
}

// Emit adds an event to the next batch.
func (p *Puller) Emit(event pull.Event) { p.buffer.add(event) }

// Buffered returns how many events wait, and how many were dropped since none waited last.
func (p *Puller) Buffered() (waiting, dropped int) { return p.buffer.state() }

// sendEvents sends each event soon, together with those that follow within a moment, until ctx ends; then it sends the
// rest.
func (p *Puller) sendEvents(ctx context.Context) error {
	again := newBackoff(p.Jitter)
	for p.gathered(ctx) {
		failed, err := p.flush(ctx)
		if err != nil {
			return err
		}
		if failed == nil {
			again.reset()
		} else if delay.For(ctx, again.after(failed)) != nil {
			continue // ctx has ended
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	_, _ = p.flush(last) // unsent events are observed again after a restart
	return nil
}

// gathered waits for an event, and a moment for others. It returns false if ctx has ended.
func (p *Puller) gathered(ctx context.Context) bool {
	select {
	case <-p.buffer.some:
	case <-ctx.Done():
		return false
	}
	moment := time.NewTimer(gather)
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-p.buffer.full:
	case <-ctx.Done():
		return false
	}
	return true
}

// flush sends the events that wait now. failed is an error that may pass; err ends the puller.
func (p *Puller) flush(ctx context.Context) (failed, err error) {
	for more := true; more; {
		var batch, tooLarge []pull.Event
		batch, tooLarge, more = p.buffer.take()
		for _, event := range tooLarge {
			p.Logger.WarnContext(ctx, "an event is too large for a request, and is dropped",
				"kind", event.ResourceRef.Kind, "name", event.ResourceRef.Name)
		}
		if len(batch) == 0 {
			return nil, nil
		}
		err := p.request(ctx, func(token string) error { return p.client.Events(ctx, token, batch) })
		switch {
		case err == nil:
			if p.buffer.sent() {
				p.Overflowed()
			}
		case isEnd(err):
			return nil, err
		case passes(err):
			p.buffer.putBack(batch)
			return err, nil
		default:
			p.Logger.WarnContext(ctx, "events were refused, and are dropped", "count", len(batch), "error", err)
		}
	}
	return nil, nil
}
