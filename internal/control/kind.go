package control

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/store/records"
)

// Kind is a kind that has a controller: the step of its objects, and what the Shell must know to take it when it is
// due.
type Kind struct {
	api.KindInfo
	// Step decides everything that is to be done about an object now. It is pure: it reads nothing but its observation
	// and writes nothing. It is called for each reconcile, in each pass, and for the dry run.
	Step func(Observation) (Step, error)
	// Gone is the step of a name whose object is gone. Default: Forget, for a kind without a finalizer.
	Gone func(Observation) (Step, error)
	// Reads lists what steps read besides their own object.
	Reads []Input
	// Keys returns the refs to reconcile, for a kind whose subjects aren't stored objects. Default: the objects of the
	// kind.
	Keys func(records.Snapshot) []api.Ref
	// Always lists objects that are reconciled whether they are declared or not.
	Always []api.Ref
	// Rests says that an object which needs nothing needs nothing until Step.After, unless something is written that
	// its step reads. Passes then remember such objects; see Quiet.
	Rests bool
	// Call makes a call that a step asks for, and returns its answer. object is the one of the step. It returns when
	// ctx ends.
	Call func(ctx context.Context, object records.Read[api.Object], call Call) any
	// Failed returns the answer of a call that panicked. Default: the error.
	Failed func(error) any
	// Workers limits how many objects are reconciled at once. Default: the queue's own limit.
	Workers int
}

// leaves reports whether something may be left of an object that is gone.
func (k Kind) leaves() bool { return k.Gone != nil || k.Finalizer == "" }

// Observation holds all that a step decides from.
type Observation struct {
	records.Snapshot
	Ref api.Ref
	// Object is the zero value if the object is gone. In a dry run it is the object as it would be stored.
	Object records.Read[api.Object]
	Now    time.Time
	// Going are the calls under way by their names, Answers those of ended ones that no committed step has seen, and
	// Memo what the step before asked to remember. A dry run has none.
	Going   map[string]calls.Going
	Answers map[string]calls.Answer
	Memo    any
	// DryRun asks for the actions of later steps too.
	DryRun bool
	// NewTask and NewSlot draw fresh ids. Passes and dry runs draw ids that are used for nothing.
	NewTask, NewSlot func() string
}

// Before returns the stored status of an object; the zero value if there is none.
func Before[S any](o Observation) (before S) {
	stored, _ := o.Get(records.StatusKey(o.Ref))
	if was, ok := stored.Value.(*S); ok && was != nil {
		before = *was
	}
	return before
}

// Report returns the step of a kind whose objects need nothing done but their status written. status returns the
// status, made from the one before.
func Report[S any](status func(o Observation, before S) S) func(Observation) (Step, error) {
	return func(o Observation) (Step, error) { return Step{Status: status(o, Before[S](o))}, nil }
}
