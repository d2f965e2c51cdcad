package prober

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"tend.dev/tend/internal/core/probe"
)

// idle is how long the loop sleeps when nothing is due; whatever comes wakes it.
const idle = time.Minute

// Prober asks the probes of the containers it follows. Make it with New; it runs once.
type Prober struct {
	opts   Options
	spread func() float64
	wake   chan struct{}
	// life ends every attempt.
	life context.Context //nolint:containedctx // attempts begin in calls that have ended when they are made
	end  context.CancelFunc
	work sync.WaitGroup

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

// New makes a Prober.
func New(o Options) *Prober {
	o = o.withDefaults()
	p := &Prober{
		opts: o, spread: spreader(), wake: make(chan struct{}, 1), pods: map[string]*pod{},
		sockets: lane{limit: o.Sockets}, commands: lane{limit: o.Commands},
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Follow begins to ask a container's probes. One that is followed already is left alone; another incarnation takes the
// place of the last.
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
		Probes: t.Probes, Status: t.Status, StartedAt: t.StartedAt, Spread: p.spread,
	})}
	one.life, one.end = context.WithCancel(p.life)
	p.pods[t.Task] = one
	p.scheduleLocked(one)
}

// Leave ends asking; attempts under way are cut, and what they would have said is forgotten.
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

// Answers are where a task's probes stand, and of which incarnation; false where it isn't followed.
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

// Run asks until ctx ends, and returns when no attempt is under way.
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

// close cuts attempts and lets none begin.
func (p *Prober) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.sockets.waiting, p.commands.waiting = nil, nil
}

// launch begins the attempts that are due and returns how long nothing else will be.
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

// scheduleLocked puts a pod where it belongs in the queue; the loop is woken when that is its head.
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

// beginLocked makes an attempt when its lane has room.
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

// attempt asks and takes the answer in, unless the pod was left meanwhile.
func (p *Prober) attempt(one *pod, a Attempt, lane *lane) {
	result := probe.Result{Void: true}
	if one.life.Err() == nil {
		began := p.opts.Now()
		result = p.opts.Ask(one.life, a)
		p.opts.Metrics.attempted(a, result, p.opts.Now().Sub(began))
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
