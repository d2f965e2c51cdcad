package remote

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/recovery"
)

// A node gives a server up after silentTime without a sign of life: a frame of the stream, or the answer to one of its
// heartbeats. So the server sends an empty frame whenever it has given no answer for answerTime, but while it answers
// heartbeats only every sparedTime; a stream on which nothing comes is given up after stuckTime.
const (
	heartbeatEvery = 5 * time.Second
	silentTime     = 3 * heartbeatEvery
	sparedTime     = 6 * heartbeatEvery
	stuckTime      = 3 * sparedTime
	answerTime     = heartbeatEvery * 3 / 2
)

// pulse sends empty frames on a stream, or does what else a stream needs at times. It is a timer, not a goroutine: a
// stack for each of many nodes is much.
type pulse struct {
	every time.Duration
	send  func()

	mu      sync.Mutex // held while a frame is sent
	timer   *time.Timer
	sent    time.Time
	stopped bool
}

func newPulse(every time.Duration, send func()) *pulse {
	p := &pulse{every: every, send: send, sent: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = recovery.AfterFunc(every, p.beat)
	return p
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.send()
	p.sent = time.Now()
	p.timer.Reset(p.every)
}

// answered puts off the next frame: the node has got another sign of life.
func (p *pulse) answered() {
	if !p.mu.TryLock() {
		return // a frame is being sent, which may take as long as the node doesn't read
	}
	defer p.mu.Unlock()
	if due := sparedTime - time.Since(p.sent); due > 0 && !p.stopped { // else it is on its way
		p.timer.Reset(min(answerTime, due))
	}
}

// stop waits for a frame that is being sent: none is sent afterwards.
func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.timer.Stop()
}

// heard tells the stream that the server has answered.
func (c *Client) heard() {
	if silent := c.silent.Load(); silent != nil {
		silent.Reset(silentTime)
	}
}

// withTTL is the parameter of a heartbeat that says how long the node stays alive. Neither the request nor the answer
// has a body, each of which would be a message more.
const withTTL = "ttl"

// leaseHeader says in the answer to a heartbeat how long it lasts.
const leaseHeader = "Tend-Lease"

// Lease implements nodeapi.Leaser: what the server has said last.
func (c *Client) Lease() time.Duration { return time.Duration(c.lease.Load()) }

// learn takes note of how long the server lets a heartbeat last.
func (c *Client) learn(answer *http.Response) {
	if lease, err := time.ParseDuration(answer.Header.Get(leaseHeader)); err == nil && lease > 0 {
		c.lease.Store(int64(lease))
	}
}

// Alive implements nodeapi.Control. A server that gives no answer within a third of what the heartbeat lasts is given
// up, if there are others: it may be cut off while its connections seem to live, and the rest of the time is for
// another one. So is one that refuses the heartbeat, such as one that has no quorum; but not more often than that,
// because all may refuse.
func (c *Client) Alive(ctx context.Context, ttl time.Duration) error {
	within, cancel := ctx, context.CancelFunc(func() {})
	if ttl > 0 {
		within, cancel = context.WithTimeout(ctx, ttl/3)
	}
	defer cancel()
	err := c.beat(within, ttl)
	switch {
	case err == nil:
		c.heard()
	case ctx.Err() == nil && c.several() && (within.Err() != nil || c.left.passed(time.Now(), ttl/3)):
		c.giveUp()
	}
	return err
}

// instant is the time of the last activity. The zero value means never.
type instant struct{ at atomic.Pointer[time.Time] }

// passed sets it to now, and reports true, unless it was less than a time ago.
func (i *instant) passed(now time.Time, apart time.Duration) bool {
	before := i.at.Load()
	return (before == nil || now.Sub(*before) >= apart) && i.at.CompareAndSwap(before, &now)
}

// giveUp ends the stream as if the server had been silent.
func (c *Client) giveUp() {
	if silent := c.silent.Load(); silent != nil {
		silent.Reset(0)
	}
}

// beat sends a heartbeat.
func (c *Client) beat(ctx context.Context, ttl time.Duration) error {
	answer, err := c.caller.Send(ctx, http.MethodPost, "alive?"+withTTL+"="+ttl.String(), nil)
	if err != nil {
		return err
	}
	c.learn(answer)
	return answer.Body.Close()
}

func (h *Handler) alive(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	text := r.URL.Query().Get(withTTL)
	if _, err := time.ParseDuration(text); err != nil {
		return fmt.Errorf("%s=%q: %w: %w", withTTL, text, err, wire.ErrBadRequest)
	}
	if err := c.Beat(r.Context(), func() error { return slow(r.Context(), h.bounds.moved, c.ID(), w) }); err != nil {
		return err
	}
	if stream, ok := h.spared.Load(c.ID()); ok {
		stream.(*pulse).answered()
	}
	w.Header().Set(leaseHeader, c.Lease().String())
	w.WriteHeader(http.StatusNoContent)
	return nil
}
