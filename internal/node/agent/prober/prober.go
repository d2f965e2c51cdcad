package prober

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/platform/recovery"
)

// idle is the time for which the loop sleeps when nothing is due; any change wakes it.
const idle = time.Minute

// Prober probes the containers it follows. Create it with New; it runs once.
type Prober struct {
	opts   Options
	spread func() float64
	wake   chan struct{}
	// life ends every attempt.
	life context.Context //nolint:containedctx // attempts begin in calls that have ended when they are made
	end  context.CancelFunc
	work recovery.Group

	mu                sync.Mutex
	pods              map[string]*pod // by task
	queue             queue
	sockets, commands lane
}

// pod is a container that is followed.
type pod struct {
	target  Target
	machine *probe.Machine
	at      time.Time // when it is due
	place   int       // in the queue; -1 while it isn't
	life    context.Context
	end     context.CancelFunc
}

// New returns a Prober.
func New(o Options) *Prober {
	o = o.withDefaults()
	p := &Prober{
		opts: o, spread: spreader(), wake: make(chan struct{}, 1), pods: map[string]*pod{},
		sockets: lane{limit: o.Sockets}, commands: lane{limit: o.Commands},
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Follow starts the probes of a container. It does nothing if the container is followed already; another incarnation
// replaces the last.
func (p *Prober) Follow(t Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.pods[t.Task]; known != nil {
		if known.target.sameIncarnation(t) {
			return
		}
		p.leaveLocked(known)
	}
	one := &pod{target: t, place: -1, machine: probe.New(probe.Options{
		Probes: t.Probes, Status: t.Status, StartedAt: t.StartedAt, Grace: t.Grace, Spread: p.spread,
	})}
	one.life, one.end = context.WithCancel(p.life)
	p.pods[t.Task] = one
	p.scheduleLocked(one)
}

// Leave stops the probes of a task; attempts under way are cancelled, and their results dropped.
func (p *Prober) Leave(task string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.pods[task]; known != nil {
		p.leaveLocked(known)
	}
}

func (p *Prober) leaveLocked(one *pod) {
	one.end()
	delete(p.pods, one.target.Task)
	if one.place >= 0 {
		heap.Remove(&p.queue, one.place)
	}
}

// Answers returns the state of a task's probes, and the incarnation they belong to; false if it isn't followed.
func (p *Prober) Answers(task string) (Target, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.pods[task]
	if one == nil {
		return Target{}, false
	}
	target := one.target
	target.Status = one.machine.Status()
	return target, true
}

// Run probes until ctx ends, and returns when no attempt is under way.
func (p *Prober) Run(ctx context.Context) error {
	defer p.work.Wait()
	defer p.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-timer.C:
		}
		timer.Reset(p.launch())
	}
}

// close cancels attempts and prevents new ones.
func (p *Prober) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.sockets.waiting, p.commands.waiting = nil, nil
}

// launch starts the attempts that are due and returns the time until the next one.
func (p *Prober) launch() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Now()
	for len(p.queue) > 0 {
		one := p.queue[0]
		if left := one.at.Sub(now); left > 0 {
			return min(left, idle)
		}
		for _, ask := range one.machine.Due(now) {
			p.beginLocked(one, ask)
		}
		p.scheduleLocked(one)
	}
	return idle
}

// scheduleLocked puts a pod at its position in the queue; the loop is woken if that is its head.
func (p *Prober) scheduleLocked(one *pod) {
	at, some := one.machine.Next(p.opts.Now())
	switch {
	case !some && one.place >= 0:
		heap.Remove(&p.queue, one.place)
	case !some:
	case one.place >= 0:
		one.at = at
		heap.Fix(&p.queue, one.place)
	default:
		one.at = at
		heap.Push(&p.queue, one)
	}
	if one.place == 0 {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// beginLocked makes an attempt once its lane has room.
func (p *Prober) beginLocked(one *pod, ask probe.Ask) {
	attempt := Attempt{
		Task: one.target.Task, Container: one.target.Container, Kind: ask.Kind, Probe: ask.Probe, Timeout: ask.Timeout,
	}
	lane := &p.sockets
	if ask.Probe.Exec != nil {
		lane = &p.commands
	}
	lane.enter(func() {
		p.work.Go(func() { p.attempt(one, attempt, lane) })
	})
}

// attempt makes an attempt and records the answer, unless the pod was left meanwhile.
func (p *Prober) attempt(one *pod, a Attempt, lane *lane) {
	result := probe.Result{Void: true}
	if one.life.Err() == nil {
		began := p.opts.Now()
		ask := func() error { result = p.opts.Ask(one.life, a); return nil }
		if recovery.Call(ask, "task", a.Task) == nil { // else the attempt says nothing, and the next one is made in its time
			p.opts.Metrics.attempted(a, result, p.opts.Now().Sub(began))
		}
	}
	if p.answered(one, a.Kind, result, lane) {
		p.opts.Changed(a.Task)
	}
}

func (p *Prober) answered(one *pod, kind probe.Kind, result probe.Result, lane *lane) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lane.leave()
	if p.pods[one.target.Task] != one || one.life.Err() != nil {
		return false
	}
	changed = one.machine.Answer(kind, result, p.opts.Now())
	p.scheduleLocked(one)
	return changed
}
