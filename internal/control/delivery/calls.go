package delivery

import (
	"context"
	"maps"
	"slices"
	"sync"

	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/engine"
)

// maxPerHost bounds the calls to one host at a time: one that doesn't answer takes no more than this.
const maxPerHost = 8

// calls are the attempts under way, with the answers of those that ended until they are recorded.
type calls struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// wake takes the keys to reconcile; nil before open and after drain, when no call is made.
	wake    func(...engine.Key)
	going   map[callID]bool
	answers map[callID]webhook.Answer
	hosts   map[string]*host
	wait    sync.WaitGroup
}

// callID identifies the delivery that a call is made for. created is the revision that made its record: a delivery of an
// object that was deleted and created again has the key of an earlier one. attempts is how many attempts were recorded before
// the call: an answer that a commit without an answer did record is not recorded again.
type callID struct {
	key      engine.Key
	created  int64
	attempts int
}

// host is a receiver's share: how many calls it has, and who waits for one of them to end.
type host struct {
	busy    int
	waiting map[engine.Key]bool
}

func newCalls() *calls {
	c := &calls{going: map[callID]bool{}, answers: map[callID]webhook.Answer{}, hosts: map[string]*host{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// open lets calls be made; wake is called with the keys of those that ended, and of those that waited for their host.
func (c *calls) open(wake func(...engine.Key)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
}

func (c *calls) drain(ctx context.Context) error {
	<-ctx.Done()
	c.open(nil)
	c.cancel()
	c.wait.Wait()
	return nil
}

// begin makes a call unless the delivery has one under way, or its host has its share already.
func (c *calls) begin(id callID, name string, call func(context.Context) webhook.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := c.wake
	if wake == nil || c.going[id] {
		return
	}
	h := c.hosts[name]
	if h == nil {
		h = &host{waiting: map[engine.Key]bool{}}
		c.hosts[name] = h
	}
	if h.busy >= maxPerHost {
		h.waiting[id.key] = true
		return
	}
	h.busy++
	c.going[id] = true
	c.wait.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, webhook.AttemptTime)
		defer cancel()
		answer := call(ctx)
		if c.ctx.Err() == nil {
			wake(c.ended(id, name, answer)...)
		}
	})
}

// ended keeps an answer and says who must be looked at: the key, and whoever waited for the host.
func (c *calls) ended(id callID, name string, answer webhook.Answer) []engine.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.going, id)
	c.answers[id] = answer
	h := c.hosts[name]
	h.busy--
	wake := slices.AppendSeq([]engine.Key{id.key}, maps.Keys(h.waiting))
	clear(h.waiting)
	if h.busy == 0 {
		delete(c.hosts, name)
	}
	return wake
}

func (c *calls) running(id callID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.going[id]
}

// answer is how the delivery's call ended; ok is false while it goes on, and where none was made.
func (c *calls) answer(id callID) (a webhook.Answer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok = c.answers[id]
	return a, ok
}

func (c *calls) forget(id callID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, id)
}

// forgetOthers drops the answers to deliveries that had the key before this one; all of them where created is 0.
func (c *calls) forgetOthers(id callID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.answers, func(other callID, _ webhook.Answer) bool { return other.key == id.key && other != id })
}
