package histories

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// verb is a request.
type verb string

const (
	apply  verb = "apply"
	scale  verb = "scale"
	remove verb = "delete"
	read   verb = "read"
	set    verb = "set"
	unset  verb = "unset"
)

// answer is the answer to a client.
type answer string

const (
	done answer = "done"
	// refused: nothing was stored.
	refused answer = "refused"
	absent  answer = "not found"
	// terminating: the object is being deleted.
	terminating answer = "terminating"
	// unknown: it may have been stored, or may be stored later.
	unknown answer = "unknown"
)

// asked is one call about one key: an object, or a config key.
type asked struct {
	key      string
	verb     verb
	value    string // an object's image, a config key's value
	replicas int
}

func (a asked) String() string { return fmt.Sprintf("%s %s %s %d", a.verb, a.key, a.value, a.replicas) }

// answered is the answer to a call. Fields that the answer lacks stay zero.
type answered struct {
	answer   answer
	created  bool
	changed  bool
	already  bool
	before   int // the replicas before a scale; -1 if unknown
	seen     state
	revision int64
}

// state is the known state of one key.
type state struct {
	there    bool
	deleting bool
	value    string
	replicas int
	// generation and revision are 0 until an answer has shown them.
	generation, revision int64
}

// model defines the states that may follow a call about one key. An object that is being deleted may be gone at any
// time.
var model = porcupine.NondeterministicModel{
	Partition: byKey,
	Init:      func() []any { return []any{state{}} },
	Step: func(from, in, out any) []any {
		var next []any
		for _, s := range from.(state).now() {
			for _, one := range steps(s, in.(asked), out.(answered)) {
				if !slices.Contains(next, any(one)) {
					next = append(next, one)
				}
			}
		}
		return next
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v: %+v", in, out) },
}

// now returns the states that a state may have become.
func (s state) now() []state {
	if s.deleting {
		return []state{s, {}}
	}
	return []state{s}
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	var keys []string
	parts := map[string][]porcupine.Operation{}
	for _, op := range history {
		key := op.Input.(asked).key
		if parts[key] == nil {
			keys = append(keys, key)
		}
		parts[key] = append(parts[key], op)
	}
	out := make([][]porcupine.Operation, len(keys))
	for i, key := range keys {
		out[i] = parts[key]
	}
	return out
}

// steps returns the states that a call may lead to; none if its answer is impossible.
func steps(s state, in asked, out answered) []state {
	switch out.answer {
	case refused:
		return []state{s}
	case absent:
		return only(!s.there, s)
	case terminating:
		return only(s.deleting, s)
	case unknown:
		return effects(s, in)
	}
	switch in.verb {
	case read:
		return s.readAs(out)
	case apply:
		return s.applied(in, out)
	case scale:
		next := s
		next.replicas = in.replicas
		return s.changed(next, out, s.there && !s.deleting && (out.before < 0 || out.before == s.replicas))
	case remove:
		if out.already {
			return only(s.deleting, s)
		}
		next := s
		next.deleting, next.revision = true, out.revision
		return only(s.there && !s.deleting && later(s.revision, out.revision), next)
	case set:
		next := state{there: true, value: in.value}
		return only(out.created == !s.there && (out.created || out.changed == (s.value != in.value)), next)
	case unset:
		return only(s.there, state{})
	}
	return nil
}

// effects returns the possible effects of an unanswered call. The case without an effect is covered by ordering it
// last.
func effects(s state, in asked) []state {
	next := s
	next.revision = 0
	switch {
	case in.verb == set:
		return []state{{there: true, value: in.value}}
	case in.verb == unset:
		return []state{{}}
	case in.verb == apply && !s.there:
		return []state{{there: true, value: in.value, replicas: in.replicas, generation: 1}}
	case in.verb == read, !s.there, s.deleting:
		return []state{s}
	case in.verb == remove:
		next.deleting = true
		return []state{next}
	case in.verb == apply:
		next.value = in.value
	}
	next.replicas = in.replicas
	if next.value == s.value && next.replicas == s.replicas {
		return []state{s, next}
	}
	next.generation = following(s.generation)
	return []state{next}
}

// readAs returns the state that an answer shows, with the fields known from earlier answers.
func (s state) readAs(out answered) []state {
	seen := out.seen
	same := s.there == seen.there && s.deleting == seen.deleting && s.replicas == seen.replicas &&
		(s.value == seen.value || seen.value == "")
	agree := equal(s.generation, seen.generation) && equal(s.revision, seen.revision)
	seen.value = cmp.Or(seen.value, s.value) // a list of keys has no values
	seen.generation, seen.revision = max(seen.generation, s.generation), max(seen.revision, s.revision)
	return only(same && agree, seen)
}

func (s state) applied(in asked, out answered) []state {
	next := state{there: true, value: in.value, replicas: in.replicas, generation: out.seen.generation,
		revision: out.revision}
	if !s.there {
		return only(out.created && (next.generation == 0 || next.generation == 1), next)
	}
	return s.changed(next, out, !out.created && !s.deleting)
}

// changed returns the states after a spec was applied. A different spec makes a new generation. An equal one makes
// none, but may still be written: to record who set it, or to retry an object in trouble.
func (s state) changed(next state, out answered, possible bool) []state {
	differs := s.value != next.value || s.replicas != next.replicas
	if !possible || differs && !out.changed {
		return nil
	}
	if !differs {
		next.generation, next.revision = max(s.generation, out.seen.generation), max(s.revision, out.revision)
		written := equal(s.revision, out.revision) || later(s.revision, out.revision)
		return only(equal(s.generation, out.seen.generation) && written, next)
	}
	next.generation, next.revision = out.seen.generation, out.revision
	fits := s.generation == 0 || next.generation == 0 || next.generation == s.generation+1
	return only(fits && later(s.revision, out.revision), next)
}

func following(generation int64) int64 {
	if generation == 0 {
		return 0
	}
	return generation + 1
}

// equal reports whether two numbers are the same, as far as both are known.
func equal(one, other int64) bool { return one == 0 || other == 0 || one == other }

func later(before, after int64) bool { return before == 0 || after == 0 || after > before }

func only(possible bool, next state) []state {
	if !possible {
		return nil
	}
	return []state{next}
}
