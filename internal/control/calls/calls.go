package calls

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
)

// MaxPerHost is the most calls to one host at a time, so that a host that doesn't answer takes no more than this.
const MaxPerHost = 8

// Calls holds the calls under way, and the answers of ended ones until they are forgotten. Create it with New.
type Calls struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// wake takes the keys to reconcile. It is nil before open and after drain, when no call is made.
	wake func(...reconciler.Key)
	// early are the keys that were reconciled before open.
	early map[reconciler.Key]bool
	keys  map[reconciler.Key]*State
	hosts map[string]*host
	// answers counts the answers that there were.
	answers int
	wait    recovery.Group
}

// State has the results of the calls of a key, by their names.
type State struct {
	// Going are the calls under way.
	Going map[string]Going
	// Answers holds the answers of ended calls, and the last output of active ones.
	Answers map[string]Answer
}

// Answer is one answer of a call.
type Answer struct {
	Value any
	// number tells it from other answers of the same name.
	number int
}

// Going is a call under way.
type Going struct {
	// Lasts says that it has no limit.
	Lasts  bool
	cancel context.CancelFunc
}

// Work is a call to make, with the function that makes it.
type Work struct {
	Key reconciler.Key
	// Name tells the calls of a key apart: while one is under way, none of the same name begins.
	Name string
	// Host is whom it is made to. Without one it takes no share of any.
	Host string
	// Limit bounds it. 0 is a call that lasts until Cancel: it takes no share of the host, answers only what it says,
	// and is repeated after a panic.
	Limit time.Duration
	// Do makes the call, and returns when its context ends. What it says is an answer before the end, in place of the
	// one before. Failed returns the answer of one that panicked.
	Do     func(ctx context.Context, say func(answer any)) any
	Failed func(error) any
}

// host is the share of one receiver: how many calls it has, and which keys wait for one of them to end.
type host struct {
	busy    int
	waiting map[reconciler.Key]bool
}

// New returns Calls that make none before Run.
func New() *Calls {
	c := &Calls{early: map[reconciler.Key]bool{}, keys: map[reconciler.Key]*State{}, hosts: map[string]*host{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Run allows calls until ctx ends; then it cancels those under way and waits for them. wake is called with the keys
// whose call was asked for before, whose call ended, and that waited for their host. A cancelled call has no answer:
// the next server makes it again.
func (c *Calls) Run(ctx context.Context, wake func(...reconciler.Key)) error {
	c.open(wake)
	<-ctx.Done()
	c.mu.Lock()
	c.wake = nil
	c.mu.Unlock()
	c.cancel()
	c.wait.Wait()
	return nil
}

func (c *Calls) open(wake func(...reconciler.Key)) {
	c.mu.Lock()
	c.wake = wake
	early := slices.Collect(maps.Keys(c.early))
	clear(c.early)
	c.mu.Unlock()
	wake(early...)
}

// Of returns the state of a key.
func (c *Calls) Of(key reconciler.Key) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.keys[key]; s != nil {
		return State{Going: maps.Clone(s.Going), Answers: maps.Clone(s.Answers)}
	}
	return State{}
}

// Begin makes a call, unless it is under way or must wait, and reports whether it does. If it waits, its key is
// reconciled when it may begin.
func (c *Calls) Begin(call Work) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake, s := c.wake, c.keys[call.Key]
	if s == nil {
		s = &State{Going: map[string]Going{}, Answers: map[string]Answer{}}
	}
	switch _, going := s.Going[call.Name]; {
	case wake == nil:
		c.early[call.Key] = true
		return false
	case going || call.shares() && !c.admit(call):
		return false
	}
	limit := call.Limit
	limit = cmp.Or(limit, math.MaxInt64)
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	c.keys[call.Key] = s
	s.Going[call.Name] = Going{Lasts: call.Limit == 0, cancel: cancel}
	c.wait.Go(func() {
		defer cancel()
		answer := call.make(ctx, func(answer any) {
			if c.said(call, answer); ctx.Err() == nil {
				wake(call.Key)
			}
		})
		if keys := c.ended(call, answer); c.ctx.Err() == nil {
			wake(keys...)
		}
	})
	return true
}

// shares reports whether the call takes a share of its host.
func (call Work) shares() bool { return call.Limit > 0 && call.Host != "" }

// admit takes a share of a call's host, or has the key wait for one.
func (c *Calls) admit(call Work) bool {
	h := c.hosts[call.Host]
	if h == nil {
		h = &host{waiting: map[reconciler.Key]bool{}}
		c.hosts[call.Host] = h
	}
	if h.busy >= MaxPerHost {
		h.waiting[call.Key] = true
		return false
	}
	h.busy++
	return true
}

func (call Work) make(ctx context.Context, say func(any)) (answer any) {
	do := func(ctx context.Context) error { answer = call.Do(ctx, say); return nil }
	if call.Limit == 0 {
		_ = recovery.Keep(ctx, do, "object", call.Key)
		return nil
	}
	if err := recovery.Call(func() error { return do(ctx) }, "object", call.Key); err != nil {
		return call.Failed(err)
	}
	return answer
}

// said keeps an answer of a call that goes on.
func (c *Calls) said(call Work, answer any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer(call, answer)
}

func (c *Calls) answer(call Work, value any) {
	c.answers++
	c.keys[call.Key].Answers[call.Name] = Answer{Value: value, number: c.answers}
}

// ended keeps an answer and returns the keys to reconcile: the call's own and those that waited for the host.
func (c *Calls) ended(call Work, answer any) []reconciler.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, keys := c.keys[call.Key], []reconciler.Key{call.Key}
	delete(s.Going, call.Name)
	if call.Limit == 0 {
		c.tidy(call.Key)
		return keys
	}
	c.answer(call, answer)
	if !call.shares() {
		return keys
	}
	h := c.hosts[call.Host]
	h.busy--
	keys = slices.AppendSeq(keys, maps.Keys(h.waiting))
	clear(h.waiting)
	if h.busy == 0 {
		delete(c.hosts, call.Host)
	}
	return keys
}

// Cancel ends a call that lasts.
func (c *Calls) Cancel(key reconciler.Key, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.keys[key]; s != nil && s.Going[name].Lasts {
		s.Going[name].cancel()
	}
}

// Forget drops an answer of a call, unless the call has said something else since.
func (c *Calls) Forget(key reconciler.Key, name string, answer Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.keys[key]; s != nil && s.Answers[name].number == answer.number {
		delete(s.Answers, name)
		c.tidy(key)
	}
}

// tidy forgets a key that nothing is known of.
func (c *Calls) tidy(key reconciler.Key) {
	if s := c.keys[key]; len(s.Going) == 0 && len(s.Answers) == 0 {
		delete(c.keys, key)
	}
}
