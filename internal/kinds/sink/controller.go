package sink

import (
	"context"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Log is the log of events.
type Log interface {
	Next(ctx context.Context, after eventlog.Position, limit int) ([]api.Event, eventlog.Position, error)
}

// The outcomes passed to Deps.Count.
const (
	CountDelivered = "delivered"
	CountRetried   = "retried"
	CountDead      = "dead"
	CountSkipped   = "skipped"
)

// Outcomes lists the outcomes.
var Outcomes = []string{CountDelivered, CountRetried, CountDead, CountSkipped}

// Deps are the dependencies of the controller.
type Deps struct {
	control.Deps
	Effects
	Log Log
	// Source is that of the events.
	Source string
	// Count is called with the type of a sink and the outcome of each attempt, or a skipped part of the log.
	Count func(kind, outcome string)
	// Spread draws the place of the next attempt within the jitter, from 0 to 1. Default random.
	Spread func() float64
}

// Controller reconciles sinks.
type Controller struct {
	*control.Shell
	sender *Sender
	deps   Deps
	pumps  *pumps
}

// statuses is the kind of sinks, as far as their status goes.
var statuses = control.Kind{
	KindInfo: api.KindSink.Info(),
	Step:     control.Report(status),
	Gone: func(o control.Observation) (control.Step, error) {
		return control.Forget(o, records.SinkKey(o.Ref)), nil
	},
	Reads: []control.Input{func(_ records.Snapshot, change view.Change) []api.Ref {
		if ref, ok := records.ParseSink(change.Key); ok {
			return []api.Ref{ref}
		}
		return nil
	}},
}

// New returns a controller. Something is sent only while its Source runs.
func New(deps Deps) *Controller {
	deps.Deps = deps.Defaults()
	if deps.Count == nil {
		deps.Count = func(string, string) {}
	}
	if deps.Spread == nil {
		deps.Spread = rand.Float64
	}
	return &Controller{
		Shell:  control.New(deps.Deps, statuses),
		sender: NewSender(deps.Deps, deps.Effects, deps.Source), deps: deps, pumps: newPumps(),
	}
}

// Source implements control.Source: it starts the pumps, and when ctx ends it stops them and waits for them.
func (c *Controller) Source(ctx context.Context, enqueue func(keys ...reconciler.Key)) error {
	c.pumps.open(enqueue)
	enqueue(c.Keys()...)
	<-ctx.Done()
	c.pumps.close()
	return nil
}

// Dirty returns the sinks for which a reconcile would write or start something.
func (c *Controller) Dirty(now time.Time) []reconciler.Key {
	s := c.Snapshot()
	unsettled := func(key reconciler.Key) bool {
		object := s.Object(api.Ref{Kind: api.KindSink, Scope: key.Scope, Name: key.Name})
		return object.Exists() && !c.pumps.settled(object.Value.Metadata, now)
	}
	return append(c.Shell.Dirty(now), control.Due(c.Keys(), unsettled)...)
}

// Reconcile starts and stops the sink's pump, writes its progress where it is time, and then its status.
func (c *Controller) Reconcile(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
	ref := api.Ref{Kind: api.KindSink, Scope: key.Scope, Name: key.Name}
	s, now := c.Snapshot(), c.Now()
	object, stored := s.Object(ref), s.SinkProgress(ref)
	if !object.Exists() {
		c.pumps.stopOthers(ref, "")
		return c.Shell.Reconcile(ctx, key)
	}
	track := c.run(object, stored)
	if track == nil {
		return c.Shell.Reconcile(ctx, key)
	}
	wait, unsaved := track.due(now)
	if unsaved && wait <= 0 {
		return c.save(ctx, object, stored, track, now)
	}
	result, err := c.Shell.Reconcile(ctx, key)
	if unsaved && err == nil && result.After == 0 {
		result.After = wait
	}
	return result, err
}

// run has the pump of a sink run by its current spec, and returns its progress; nil while none may run.
func (c *Controller) run(object records.Read[api.Object], stored records.Read[api.SinkProgress]) *track {
	uid := object.Value.Metadata.UID
	c.pumps.stopOthers(object.Value.Ref(), uid)
	spec, err := api.DecodeSpec[api.SinkSpec](*object.Value)
	if err != nil {
		return nil
	}
	begin := api.SinkProgress{UID: uid, Position: eventlog.After(object.Created).String()}
	if stored.Exists() && stored.Value.UID == uid {
		begin = *stored.Value
	}
	return c.pumps.ensure(object.Value, begin, func(t *track) runner {
		p := &pump{Sender: c.sender, deps: c.deps, object: object.Value, spec: spec, track: t,
			logger: c.deps.Logger.With("object", object.Value.Ref().String())}
		return p.run
	})
}

// save writes a sink's progress.
func (c *Controller) save(ctx context.Context, object records.Read[api.Object], stored records.Read[api.SinkProgress],
	t *track, now time.Time) (reconciler.Result, error) {
	progress, version := t.copy()
	ref := object.Value.Ref()
	key := records.SinkKey(ref)
	txn := records.NewTxn("sink.progress").If(records.ObjectKey(ref), object.Modified).If(key, stored.Modified).Put(key,
		progress)
	revision, err := c.Commit(ctx, txn, key)
	if err != nil {
		return reconciler.Result{}, err
	}
	t.saved(version, now)
	return reconciler.Result{Revision: revision, After: time.Millisecond}, nil
}
