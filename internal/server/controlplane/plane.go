package controlplane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/watcher"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Options are the options of a Plane. View, Sealer and Effects are required.
type Options struct {
	View *view.View
	// Sealer encrypts environments.
	Sealer control.Sealer
	// Changes names the fields in which a release differs from the one before. Default: releases record no fields.
	Changes func(before, after api.Release) []string
	Effects
	// ReplicasHolder returns the field manager other than a person that sets the replicas of an object; see
	// autoscaler.Options.
	ReplicasHolder func(object api.Object) string
	// NodeTimeout bounds the time without a heartbeat before a node is lost; AutoscaleInterval is the interval between two
	// measurements of load.
	NodeTimeout time.Duration
	// NodeGather is the time between the end of a heartbeat and the end of NodeTimeout; see nodeapi.Gather. Default:
	// NodeTimeout.
	NodeGather time.Duration
	// FormerLeader is owner.Liveness's.
	FormerLeader func() time.Time
	// Alone is when the server was started, if it is alone; zero among several.
	Alone             time.Time
	AutoscaleInterval time.Duration
	// Resync is the time between two pure passes over the view; see reconciler.Options.
	Resync time.Duration
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Metrics and Watchers may be nil.
	Metrics  *reconciler.Metrics
	Watchers *watcher.Metrics
	// Tracer exports traces. Default: no traces.
	Tracer *tracing.Tracer
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Plane runs controllers, one term at a time. Create it with New.
type Plane struct {
	Options
	// snapshot returns the newest snapshot of the store, and make the controllers of a term. Tests replace make to add
	// controllers that panic.
	snapshot func() records.Snapshot
	make     func(commits records.Committer) []control.Controller
	previews map[api.Kind]control.Previewer
	// liveness is shared by the controllers of a term and their previews: a dry run must regard the same nodes as lost.
	liveness *owner.Liveness
	ready    chan struct{}
	once     sync.Once
}

// New returns a Plane.
func New(o Options) *Plane {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Plane{
		Options: o, liveness: owner.NewLiveness(o.NodeTimeout, o.NodeGather, nil), ready: make(chan struct{}),
		previews: map[api.Kind]control.Previewer{},
		snapshot: func() records.Snapshot { return records.Snapshot{Reader: o.View.Snapshot()} },
	}
	if o.FormerLeader != nil {
		p.liveness.FormerLeader = o.FormerLeader
	}
	o.View.OnChange(p.liveness.Notice) // also while another server has the controllers
	p.make = p.controllers
	for _, c := range p.controllers(readOnly{}) {
		if previewer, ok := c.(control.Previewer); ok {
			p.previews[api.Kind(c.Name())] = previewer
		}
	}
	return p
}

// errReadOnly is the error of a commit by a controller that only previews.
var errReadOnly = errors.New("this controller belongs to no term")

// readOnly refuses every commit.
type readOnly struct{}

// Commit implements records.Committer.
func (readOnly) Commit(context.Context, store.Txn) (int64, error) { return 0, errReadOnly }

// Preview returns the actions that an object's controller would take; none if its kind has no preview. It needs no
// term.
func (p *Plane) Preview(snapshot records.Snapshot, object api.Object) ([]api.PlannedAction, error) {
	previewer, ok := p.previews[object.Kind]
	if !ok {
		return nil, nil
	}
	return previewer.Preview(snapshot, object)
}

// Ready returns a channel that is closed once every key was reconciled for the first time.
func (p *Plane) Ready() <-chan struct{} { return p.ready }

// Run makes the controllers of a term and works until ctx ends or the term is lost, which is then the error. It returns
// when all of them have ended.
func (p *Plane) Run(ctx context.Context, term *Term) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.liveness.Begin(term.Revision())
	var members []reconciler.Member
	var notify []func(records.Snapshot, view.Change)
	for _, c := range p.make(term) {
		work := reconciler.New(p.engineOptions(c, term))
		if source, ok := c.(control.Source); ok {
			members = append(members, running(func(ctx context.Context) error {
				return source.Source(ctx,
					work.Enqueue)
			}))
		}
		members = append(members, work)
		notify = append(notify, func(snapshot records.Snapshot, change view.Change) {
			affected := func() error { work.Enqueue(c.Affected(snapshot, change)...); return nil }
			_ = recovery.Call(affected, "controller", c.Name(), "store_key",
				change.Key) // the next pass finds what a lost change would have queued
		})
	}
	group := reconciler.NewGroup(reconciler.GroupOptions{}, members...)
	remove := p.View.OnChange(func(change view.Change) {
		if change.Key == ElectionKey {
			term.observe(change.New, change.Revision)
			return
		}
		snapshot := p.snapshot()
		for _, each := range notify {
			each(snapshot, change)
		}
	})
	defer remove()
	if election, ok := p.View.Snapshot().Get(ElectionKey); ok {
		term.observe(election.Value, election.Modified)
	}
	var watching recovery.Group
	watching.Go(func() { p.watch(ctx, cancel, term, group.Ready()) })
	err := group.Run(ctx)
	cancel()
	watching.Wait()
	select {
	case <-term.Lost():
		return errors.Join(term.Err(), err)
	default:
		return err
	}
}

// watch ends the controllers when their term is lost.
func (p *Plane) watch(ctx context.Context, end context.CancelFunc, term *Term, ready <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-term.Lost():
			end()
			return
		case <-ready:
			p.once.Do(func() { close(p.ready) })
			ready = nil
		}
	}
}

func (p *Plane) engineOptions(c control.Controller, term *Term) reconciler.Options {
	o := reconciler.Options{
		Name: c.Name(), Reconciler: p.traced(c), Replay: c.Keys, Dirty: c.Dirty, Resync: p.Resync,
		Synced: p.View.Synced(), Revision: p.View.Revision, WaitFor: p.View.WaitFor, Settle: term.Settle,
		Logger: p.Logger, Metrics: p.Metrics, Now: p.Now,
	}
	if bounded, ok := c.(interface{ Workers() int }); ok {
		o.Workers = bounded.Workers()
	}
	return o
}

// running is a member that is ready from the start.
type running func(ctx context.Context) error

// Run implements reconciler.Member.
func (r running) Run(ctx context.Context) error { return r(ctx) }

// Ready implements reconciler.Member.
func (running) Ready() <-chan struct{} { return started }

var started = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
