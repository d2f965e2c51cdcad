package delivery

import (
	"context"
	"maps"
	"slices"
	"sync"

	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/engine"
)

// maxPerHost is the most calls to one host at a time, so that a host that doesn't answer takes no more than this.
const maxPerHost = 8

// calls holds the attempts under way, and the answers of ended ones until they are recorded.
type calls struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// wake takes the keys to reconcile. It is nil before open and after drain, when no call is made.
	wake func(...engine.Key)
	// early are the keys that were reconciled before open.
	early   map[engine.Key]bool
	going   map[callID]bool
	answers map[callID]webhook.Answer
	hosts   map[string]*host
	wait    sync.WaitGroup
}

// callID identifies the delivery that a call is made for. created is the revision that created its record: a delivery
// of an object that was deleted and created again has the key of an earlier one. attempts is the number of attempts
// recorded before the call: an answer is not recorded twice if a commit that got no answer recorded it.
type callID struct {
	key      engine.Key
	created  int64
	attempts int
}

// host is the share of one receiver: how many calls it has, and which deliveries wait for one of them to end.
type host struct {
	busy    int
	waiting map[engine.Key]bool
}

func newCalls() *calls {
	c := &calls{early: map[engine.Key]bool{}, going: map[callID]bool{}, answers: map[callID]webhook.Answer{}, hosts: map[string]*host{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// open allows calls. wake is called with the keys of deliveries whose call was asked for before, of calls that ended, and
// of deliveries that waited for their host.
func (c *calls) open(wake func(...engine.Key)) {
	c.mu.Lock()
	c.wake = wake
	early := slices.Collect(maps.Keys(c.early))
	clear(c.early)
	c.mu.Unlock()
	wake(early...)
}

func (c *calls) drain(ctx context.Context) error {
	<-ctx.Done()
	c.mu.Lock()
	c.wake = nil
	c.mu.Unlock()
	c.cancel()
	c.wait.Wait()
	return nil
}

// begin makes a call, unless the delivery has one under way or its host has maxPerHost of them.
func (c *calls) begin(id callID, name string, call func(context.Context) webhook.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := c.wake
	switch {
	case wake == nil:
		c.early[id.key] = true
		return
	case c.going[id]:
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

// ended keeps an answer and returns the keys to reconcile: the delivery's own and those that waited for the host.
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

// answer returns how the delivery's call ended. ok is false while it is under way, and if none was made.
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

// forgetOthers drops the answers for the key of id, except the one to id itself: they belong to deliveries that had the
// key before. With created 0 it drops all of them.
func (c *calls) forgetOthers(id callID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.answers, func(other callID, _ webhook.Answer) bool { return other.key == id.key && other != id })
}
