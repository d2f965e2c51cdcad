package verbs

import (
	"context"
	"maps"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/store/records"
)

// Declared is a verb with what carries it out. Its input is a pointer to a verb.Verb's In, its answer an Out.
type Declared struct {
	verb.Verb
	Do func(ctx context.Context, s *Service, target Target, actor string, input any) (any, error)
}

var declared []Declared

// All returns the verbs that are declared here and by kinds.
func All() []Declared { return declared }

// Request is one call of a verb.
type Request[In any] struct {
	Target Target
	Actor  string
	In     In
}

// Declare adds a verb: what is said of it, and what carries it out.
func Declare[In, Out any](v verb.Verb, do func(context.Context, *Service, Request[In]) (Out, error)) Declared {
	d := Declared{verb.Of[In, Out](v),
		func(ctx context.Context, s *Service, target Target, actor string, input any) (any, error) {
			return do(ctx, s, Request[In]{Target: target, Actor: actor, In: *input.(*In)})
		}}
	declared = append(declared, d)
	return d
}

// plainly carries out a verb without an input by a method of the service.
func plainly[Out any](
	do func(*Service, context.Context, Target, string) (Out, error),
) func(context.Context, *Service, Request[struct{}]) (Out, error) {
	return func(ctx context.Context, s *Service, r Request[struct{}]) (Out, error) {
		return do(s, ctx, r.Target, r.Actor)
	}
}

// Asked has all that a verb is decided from.
type Asked[In any] struct {
	records.Snapshot
	// Object is the named object. It is not being deleted.
	Object records.Read[api.Object]
	In     In
	Actor  string
	Now    time.Time
}

// Fits decides which objects have a verb.
type Fits struct {
	// Kind has it alone. A name without a kind is one of its, unless Any.
	Kind api.Kind
	Any  bool
	// Not says what an object of another kind is not, Next what to do then.
	Not, Next string
}

// find returns the object that a verb is asked of.
func (f Fits) find(snap records.Snapshot, target Target) (records.Read[api.Object], error) {
	if target.Kind == "" && !f.Any {
		target.Kind = f.Kind
	}
	object, err := target.findLive(snap)
	if err == nil && object.Value.Kind != f.Kind {
		err = invalid(f.Next, "%s %s", object.Value.Ref(), f.Not)
	}
	return object, err
}

// Decided carries out a verb of one object by what decide decides: it is committed on the condition that nothing it
// was decided from has changed. decide is pure. It is called again if something has. site names the commit.
func Decided[In any](fits Fits, site string, decide func(Asked[In]) (*Decision[api.VerbResult], error),
) func(context.Context, *Service, Request[In]) (api.VerbResult, error) {
	return func(ctx context.Context, s *Service, r Request[In]) (api.VerbResult, error) {
		return s.verb(ctx, site, FieldManager{Actor: r.Actor}, func(snap records.Snapshot) (*verbDecision, error) {
			object, err := fits.find(snap, r.Target)
			if err != nil {
				return nil, err
			}
			return decide(Asked[In]{Snapshot: snap, Object: object, In: r.In, Actor: r.Actor, Now: s.opts.Now()})
		})
	}
}

// Stamped returns the decision to change the stamps of the object, of which change gets a copy. site names the commit.
func (a Asked[In]) Stamped(site string, change func(stamps map[string]string)) *Decision[api.VerbResult] {
	next, decided := *a.Object.Value, unchanged(site, a.Object)
	next.Metadata.Stamps = next.Metadata.CopyStamps()
	if change(next.Metadata.Stamps); maps.Equal(a.Object.Value.Metadata.Stamps, next.Metadata.Stamps) {
		return decided
	}
	next.Metadata.Change = &api.Change{Verb: site, Actor: a.Actor}
	write(decided, a.Object, next, a.Now)
	return decided
}
