package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Shell is the controller of every Kind. A reconcile commits the kind's step, a pass asks which steps are not empty,
// and a dry run shows the actions of the step: what is decided about an object, the kind decides in one place.
type Shell struct {
	Deps
	// Kind says what the Shell does; it is not changed after New.
	Kind    Kind
	quiet   Quiet
	outside *outside
}

// New returns the controller of a kind.
func New(deps Deps, kind Kind) *Shell {
	return &Shell{Deps: deps.Defaults(), Kind: kind, outside: newOutside()}
}

// Name implements Controller.
func (c *Shell) Name() string { return string(c.Kind.Kind) }

// Workers returns how many objects are reconciled at once; 0 is the queue's default.
func (c *Shell) Workers() int { return c.Kind.Workers }

// Keys returns all objects of the kind, and those of which only the status is left.
func (c *Shell) Keys() []reconciler.Key { return c.keys(c.Snapshot()) }

func (c *Shell) keys(s records.Snapshot) (out []reconciler.Key) {
	if c.Kind.Keys != nil {
		for _, ref := range c.Kind.Keys(s) {
			out = append(out, Key(ref))
		}
		return out
	}
	out = Keys(s, c.Kind.Kind)
	if c.Kind.leaves() {
		out = KeysAndStatuses(s, c.Kind.Kind)
	}
	for _, ref := range c.Kind.Always {
		if key := Key(ref); !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

// Dirty returns the objects whose step is not empty.
func (c *Shell) Dirty(now time.Time) []reconciler.Key {
	s := c.Snapshot()
	if c.Kind.Rests {
		return c.quiet.Dirty(s, c.keys(s), now, c.judge)
	}
	return Due(c.keys(s), func(key reconciler.Key) bool { return c.judge(s, key, now).Dirty })
}

func (c *Shell) judge(s records.Snapshot, key reconciler.Key, now time.Time) Verdict {
	ref := c.ref(key)
	o := unused(Observation{Snapshot: s, Ref: ref, Object: s.Object(ref), Now: now})
	c.outside.into(&o, key)
	step, err := c.step(o)
	if err != nil || step.Stalled != nil {
		s.Fleeting() // what can't be read may be readable without a write: a key that decrypts it
	}
	verdict := Verdict{Dirty: err != nil || !step.Empty() || step.changes(o)}
	if step.After > 0 {
		verdict.Until = now.Add(step.After)
	}
	return verdict
}

// Affected returns the changed object, if it is of the kind, and those whose steps read what changed.
func (c *Shell) Affected(s records.Snapshot, change view.Change) (out []reconciler.Key) {
	if object, ok := Changed(change).(*api.Object); ok && object.Kind == c.Kind.Kind {
		out = append(out, Key(object.Ref()))
	}
	for _, input := range c.Kind.Reads {
		read := func() error {
			for _, ref := range input(s, change) {
				if ref.Kind == c.Kind.Kind && (len(out) == 0 || out[0] != Key(ref)) {
					out = append(out, Key(ref))
				}
			}
			return nil
		}
		_ = recovery.Call(read, "controller", c.Name(), "store_key", change.Key) // the next pass finds what it missed
	}
	return out
}

// Reconcile commits the step of one object.
func (c *Shell) Reconcile(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
	s, ref := c.Snapshot(), c.ref(key)
	o := Observation{
		Snapshot: s, Ref: ref, Object: s.Object(ref), Now: c.Now(), NewTask: c.NewTask, NewSlot: c.NewSlot,
	}
	c.outside.into(&o, key)
	step, err := c.decide(o)
	if err != nil {
		revision, failed := c.name(ctx, o, err)
		return reconciler.Result{Revision: revision}, errors.Join(err, failed)
	}
	revision, err := c.commit(ctx, s, step)
	if err != nil {
		return reconciler.Result{}, err
	}
	if revision > 0 {
		c.report(ctx, ref, step)
	}
	c.follow(ctx, key, o, step)
	return reconciler.Result{Revision: revision, After: step.After}, reconciler.Terminal(step.Stalled)
}

// commit commits a step, with the nodes of the tasks that it creates. If others placed tasks meanwhile, the step leaves
// its own to the scheduler.
func (c *Shell) commit(ctx context.Context, s records.Snapshot, step Step) (int64, error) {
	if placed := c.Board.Place(s, step.Txn); placed != nil {
		revision, err := c.Commit(ctx, placed, step.Guard)
		if _, overtaken := board.Overtaken(err); !overtaken {
			return revision, err
		}
	}
	return c.Commit(ctx, step.Txn, step.Guard)
}

// Preview returns what the controller will do once an object is stored. It writes nothing.
func (c *Shell) Preview(s records.Snapshot, object api.Object) (plan []api.PlannedAction, err error) {
	o := unused(Observation{Snapshot: s, Ref: object.Ref(), Object: records.Read[api.Object]{Value: &object},
		Now: c.Now(), DryRun: true})
	err = recovery.Call(func() error {
		step, err := c.step(o)
		if err != nil {
			return err
		}
		plan = append(slices.Clip(step.Actions), step.planned(o)...)
		return step.Stalled
	}, "object", o.Ref.String())
	return plan, err
}

func (c *Shell) ref(key reconciler.Key) api.Ref {
	return api.Ref{Kind: c.Kind.Kind, Scope: key.Scope, Name: key.Name}
}

// step returns the kind's step, ready to be committed.
func (c *Shell) step(o Observation) (step Step, err error) {
	decide := c.Kind.Step
	switch {
	case o.Object.Exists() || c.Kind.Keys != nil || slices.Contains(c.Kind.Always, o.Ref):
	case c.Kind.Gone != nil:
		decide = c.Kind.Gone
	case c.Kind.leaves():
		decide = func(o Observation) (Step, error) { return Forget(o), nil }
	default:
		decide = func(Observation) (Step, error) { return Step{}, nil }
	}
	if step, err = decide(o); err != nil {
		return Step{}, err
	}
	step.cure(o)
	err = step.complete(o, c.Kind.Keys == nil)
	return step, err
}

// unused returns an observation whose fresh ids are used for nothing: no source of ids is drawn from.
func unused(o Observation) Observation {
	drawn := 0
	o.NewTask = func() string { drawn++; return fmt.Sprintf("%016x", drawn) }
	o.NewSlot = func() string { drawn++; return fmt.Sprintf("%08x", drawn) }
	return o
}

// report logs what was committed.
func (c *Shell) report(ctx context.Context, ref api.Ref, step Step) {
	log := c.Logger.With("object", ref.String())
	for _, action := range slices.Concat(step.Actions, step.Chores) {
		tracing.Note(ctx, "action", action.Text)
		planLog := log
		if action.Release != "" {
			planLog = log.With("release", action.Release)
		}
		planLog.InfoContext(ctx, "plan", "action", action.Text)
	}
	if step.Log != nil {
		step.Log(log)
	}
	if step.Removes {
		log.InfoContext(ctx, "deleted")
	}
}
