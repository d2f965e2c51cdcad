package histories

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// TestTheModelJudges: which answers fit an order, and which don't.
func TestTheModelJudges(t *testing.T) {
	create := func(call, ends int64, value string) porcupine.Operation {
		return op(call, ends, asked{key: "x", verb: apply, value: value, replicas: 1},
			answered{answer: done, created: true, changed: true, revision: call, seen: state{generation: 1}})
	}
	change := func(call, ends int64, value string, generation int64) porcupine.Operation {
		return op(call, ends, asked{key: "x", verb: apply, value: value, replicas: 1},
			answered{answer: done, changed: true, revision: call, seen: state{generation: generation}})
	}
	see := func(call, ends int64, value string, generation int64) porcupine.Operation {
		return op(call, ends, asked{key: "x", verb: read}, answered{answer: done,
			seen: state{there: true, value: value, replicas: 1, generation: generation}})
	}
	again := func(call, ends, revision int64) porcupine.Operation {
		return op(call, ends, asked{key: "x", verb: apply, value: "1", replicas: 1},
			answered{answer: done, revision: revision, seen: state{generation: 1}})
	}
	seeRevision := func(call, ends, revision int64) porcupine.Operation {
		return op(call, ends, asked{key: "x", verb: read}, answered{answer: done,
			seen: state{there: true, value: "1", replicas: 1, generation: 1, revision: revision}})
	}
	lost := func(call int64, value string) porcupine.Operation {
		return op(call, math.MaxInt64, asked{key: "x", verb: apply, value: value, replicas: 1}, answered{answer: unknown})
	}
	none := func(call, ends int64) porcupine.Operation {
		return op(call, ends, asked{key: "x", verb: read}, answered{answer: absent})
	}
	deleted := op(3, 4, asked{key: "x", verb: remove}, answered{answer: done})
	for name, test := range map[string]struct {
		history []porcupine.Operation
		want    bool
	}{
		"a write is read":                       {[]porcupine.Operation{create(1, 2, "1"), see(3, 4, "1", 1)}, true},
		"a write that was answered is not read": {[]porcupine.Operation{create(1, 2, "1"), none(3, 4)}, false},
		"a write is read before its answer":     {[]porcupine.Operation{create(1, 4, "1"), see(2, 3, "1", 1)}, true},
		"what was read is gone again": {[]porcupine.Operation{create(1, 9, "1"), see(2, 3, "1", 1), none(4, 5)},
			false},
		"an older value is read": {[]porcupine.Operation{create(1, 2, "1"), change(3, 4, "2", 2),
			see(5, 6, "1", 1)}, false},
		"a write without an answer is stored": {[]porcupine.Operation{create(1, 2, "1"), lost(3, "2"), see(5, 6, "2", 2)},
			true},
		"a write without an answer is not": {[]porcupine.Operation{create(1, 2, "1"), lost(3, "2"), see(5, 6, "1", 1)},
			true},
		"it is stored late": {[]porcupine.Operation{create(1, 2, "1"), lost(3, "2"), see(5, 6, "1", 1),
			see(7, 8, "2", 2)}, true},
		"it is stored twice": {[]porcupine.Operation{
			create(1, 2, "1"), lost(3, "2"), see(5, 6, "2", 2), change(7, 8, "3", 3), see(9, 10, "2", 4)}, false},
		"a generation is left out": {[]porcupine.Operation{create(1, 2, "1"), change(3, 4, "2", 3)}, false},
		"the same again": {[]porcupine.Operation{create(1, 2, "1"), again(3, 4, 1),
			seeRevision(5, 6, 1)}, true},
		"another try is written": {[]porcupine.Operation{create(1, 2, "1"), again(3, 4, 3),
			seeRevision(5, 6, 3)}, true},
		"another try is written, and not read": {[]porcupine.Operation{create(1, 2, "1"), again(3, 4, 3),
			seeRevision(5, 6, 1)}, false},
		"the same again of an older revision": {[]porcupine.Operation{create(2, 2, "1"), again(3, 4, 1)}, false},
		"deleted and gone": {[]porcupine.Operation{create(1, 2, "1"), deleted, none(5, 6),
			create(7, 8, "2")}, true},
		"deleted and back": {[]porcupine.Operation{create(1, 2, "1"), deleted, none(5, 6),
			see(7, 8, "1", 1)}, false},
	} {
		if got := porcupine.CheckOperations(model.ToModel(), test.history); got != test.want {
			t.Errorf("%s: linearizable is %t, want %t", name, got, test.want)
		}
	}
}

func op(call, ends int64, in asked, out answered) porcupine.Operation {
	if out.before == 0 {
		out.before = -1
	}
	return porcupine.Operation{Input: in, Output: out, Call: call, Return: ends}
}
