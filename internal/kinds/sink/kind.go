package sink

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Log is the log of events.
type Log interface {
	Next(ctx context.Context, after eventlog.Position, limit int) ([]api.Event, eventlog.Position, error)
}

// The outcomes passed to Options.Count.
const (
	CountDelivered = "delivered"
	CountRetried   = "retried"
	CountDead      = "dead"
	CountSkipped   = "skipped"
)

// Outcomes lists the outcomes.
var Outcomes = []string{CountDelivered, CountRetried, CountDead, CountSkipped}

// Options holds the dependencies of sinks, besides those of every kind.
type Options struct {
	Effects
	Log Log
	// Source is the source of the events.
	Source string
	// Count is called with the type of a sink and the outcome of each attempt, or a skipped part of the log.
	Count func(kind, outcome string)
	// Spread draws the place of the next attempt within the jitter, from 0 to 1. Default random.
	Spread func() float64
}

// sinks decides about sinks, and sends to them.
type sinks struct {
	Options
	deps   control.Deps
	sender *Sender
}

// known is the memo of a step: how far a sink is, which generation of it sends, and what of it was stored last, when.
type known struct {
	track
	generation int64
	saved      changes
	savedAt    time.Time
}

// Kind returns the kind of sinks.
func Kind(deps control.Deps, o Options) control.Kind {
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	if o.Spread == nil {
		o.Spread = rand.Float64
	}
	deps = deps.Defaults()
	c := &sinks{Options: o, deps: deps, sender: NewSender(deps, o.Effects, o.Source)}
	return control.Kind{
		KindInfo: api.KindSink.Info(), Step: c.step, Call: c.call,
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
}

// step has a sink send by its current spec, and writes its progress where it is time, and its status.
func (c *sinks) step(o control.Observation) (control.Step, error) {
	object, stored := *o.Object.Value, o.SinkProgress(o.Ref)
	uid, generation := object.Metadata.UID, object.Metadata.Generation
	progress := api.SinkProgress{UID: uid, Position: eventlog.After(o.Object.Created).String()}
	if stored.Exists() && stored.Value.UID == uid {
		progress = *stored.Value
	}
	memo := control.Recall[known](o)
	if memo.now.UID != uid {
		memo = known{track: track{now: progress}}
	}
	for _, answer := range o.Answers {
		if t, ok := answer.Value.(track); ok && t.now.UID == uid {
			memo.track = t
		}
	}
	var next control.Step
	name := fmt.Sprintf("send %s/%d", uid, generation)
	_, sends := o.Going[name]
	_, err := api.DecodeSpec[api.SinkSpec](object)
	if err == nil && memo.now.Gone != generation && (sends || len(o.Going) == 0) { // one at a time
		if memo.generation != 0 && memo.generation != generation {
			memo.change(unhurried, tryNow)
		}
		memo.generation = generation
		from := memo.track
		next.Calls = []control.Call{{Name: name, Request: &from}}
	}
	if wait, unsaved := memo.due(o.Now); unsaved && wait > 0 {
		next.After = wait
	} else if unsaved {
		next.Guard = records.SinkKey(o.Ref)
		next.Txn = records.NewTxn("sink.progress").If(next.Guard, stored.Modified).Put(next.Guard, memo.now)
		memo.saved, memo.savedAt, progress = memo.changes, o.Now, memo.now
	}
	next.Status, next.Memo = status(o, control.Before[api.SinkStatus](o), progress), memo
	return next, nil
}

// tryNow ends the wait for the next attempt, and what is known of refused addresses: what the user changed may be what
// it needed.
func tryNow(progress *api.SinkProgress) {
	progress.Refusals = nil
	if progress.Trying != nil {
		trying := *progress.Trying
		trying.NextAt = time.Time{}
		progress.Trying = &trying
	}
}

// call sends until ctx ends, or until the receiver is gone for good. After a panic it goes on from where it was.
func (c *sinks) call(ctx context.Context, object records.Read[api.Object], call control.Call) any {
	spec, _ := api.DecodeSpec[api.SinkSpec](*object.Value) // the step has read it
	p := &pump{
		sinks: c, object: object.Value, spec: spec, track: call.Request.(*track), say: call.Say,
		logger: c.deps.Logger.With("object", object.Value.Ref().String()),
	}
	p.run(ctx)
	return nil
}
