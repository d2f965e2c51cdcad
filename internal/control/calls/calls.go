package calls

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/platform/recovery"
)

// MaxPerHost is the most calls to one host at a time, so that a host that doesn't answer takes no more than this.
const MaxPerHost = 8

// Calls holds the calls under way, and the answers of ended ones until they are recorded. Create it with New.
type Calls[Answer any] struct {
	limit  time.Duration
	failed func(error) Answer
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// wake takes the keys to reconcile. It is nil before open and after drain, when no call is made.
	wake func(...engine.Key)
	// early are the keys that were reconciled before open.
	early   map[engine.Key]bool
	going   map[ID]bool
	answers map[ID]Answer
	hosts   map[string]*host
	wait    recovery.Group
}

// ID identifies what a call is made for. Created is the revision that created its record: one that was deleted and
// created again has the key of the earlier one. Attempt is the number of the call: an answer is not recorded twice if a
// commit that got no answer recorded it.
type ID struct {
	Key     engine.Key
	Created int64
	Attempt int
}

// host is the share of one receiver: how many calls it has, and which keys wait for one of them to end.
type host struct {
	busy    int
	waiting map[engine.Key]bool
}

// New returns Calls that make none before Run. limit bounds each call; failed returns the answer of one that panicked.
func New[Answer any](limit time.Duration, failed func(error) Answer) *Calls[Answer] {
	c := &Calls[Answer]{
		limit: limit, failed: failed, early: map[engine.Key]bool{}, going: map[ID]bool{}, answers: map[ID]Answer{},
		hosts: map[string]*host{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Run allows calls until ctx ends; then it cancels those under way and waits for them. wake is called with the keys
// whose call was asked for before, whose call ended, and that waited for their host. A cancelled call has no answer:
// the next server makes it again.
func (c *Calls[Answer]) Run(ctx context.Context, wake func(...engine.Key)) error {
	c.open(wake)
	<-ctx.Done()
	c.mu.Lock()
	c.wake = nil
	c.mu.Unlock()
	c.cancel()
	c.wait.Wait()
	return nil
}

func (c *Calls[Answer]) open(wake func(...engine.Key)) {
	c.mu.Lock()
	c.wake = wake
	early := slices.Collect(maps.Keys(c.early))
	clear(c.early)
	c.mu.Unlock()
	wake(early...)
}

// Begin makes a call, unless the same one is under way or its host has MaxPerHost of them. call returns when its
// context ends.
func (c *Calls[Answer]) Begin(id ID, name string, call func(context.Context) Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := c.wake
	switch {
	case wake == nil:
		c.early[id.Key] = true
		return
	case c.going[id]:
		return
	}
	h := c.hosts[name]
	if h == nil {
		h = &host{waiting: map[engine.Key]bool{}}
		c.hosts[name] = h
	}
	if h.busy >= MaxPerHost {
		h.waiting[id.Key] = true
		return
	}
	h.busy++
	c.going[id] = true
	c.wait.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.limit)
		defer cancel()
		var answer Answer
		if err := recovery.Call(func() error { answer = call(ctx); return nil }, "object", id.Key); err != nil {
			answer = c.failed(err)
		}
		if c.ctx.Err() == nil {
			wake(c.ended(id, name, answer)...)
		}
	})
}

// ended keeps an answer and returns the keys to reconcile: the call's own and those that waited for the host.
func (c *Calls[Answer]) ended(id ID, name string, answer Answer) []engine.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.going, id)
	c.answers[id] = answer
	h := c.hosts[name]
	h.busy--
	wake := slices.AppendSeq([]engine.Key{id.Key}, maps.Keys(h.waiting))
	clear(h.waiting)
	if h.busy == 0 {
		delete(c.hosts, name)
	}
	return wake
}

// Running reports whether the call is under way.
func (c *Calls[Answer]) Running(id ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.going[id]
}

// Answer returns how the call ended. ok is false while it is under way, and if none was made.
func (c *Calls[Answer]) Answer(id ID) (a Answer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok = c.answers[id]
	return a, ok
}

// Forget drops the answer of a call.
func (c *Calls[Answer]) Forget(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, id)
}

// ForgetOthers drops the answers for the key of id, except the one to id itself: they belong to records that had the
// key before. With Created 0 it drops all of them.
func (c *Calls[Answer]) ForgetOthers(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.answers, func(other ID, _ Answer) bool { return other.Key == id.Key && other != id })
}
