package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/anishathalye/porcupine"

	"tend.dev/tend/api"
)

// answer is the answer to a verb.
type answer string

const (
	done    answer = "done"
	refused answer = "refused"
	absent  answer = "not found"
	open    answer = "outcome unknown"
)

// input is a verb's request about one object.
type input struct {
	verb     string // apply, delete, scale, rollback, read; other verbs don't change the declared state
	spec     string // apply: a digest of the spec without replicas
	replicas int    // apply and scale
}

func (i input) String() string {
	switch i.verb {
	case "apply":
		return fmt.Sprintf("apply (%s, %d replicas)", i.spec, i.replicas)
	case "scale":
		return fmt.Sprintf("scale to %d", i.replicas)
	}
	return i.verb
}

// declared is the state of one object, as far as verbs change it.
type declared struct {
	// anything is set while the state is unknown; the next read determines it.
	anything bool
	there    bool
	deleting bool
	spec     string // "*": chosen by a rollback; the next read determines it
	replicas int
}

// output is the result of a verb or a read.
type output struct {
	answer answer
	read   declared
}

func applied(object api.Object) input {
	spec, replicas := digestSpec(object)
	return input{verb: "apply", spec: spec, replicas: replicas}
}

// digestSpec returns the digest of a spec without its replicas, and the replicas.
func digestSpec(object api.Object) (string, int) {
	fields := map[string]any{}
	decode(object.Spec, &fields)
	replicas := 1
	if n, ok := fields["replicas"].(float64); ok {
		replicas = int(n)
	}
	delete(fields, "replicas")
	canonical, _ := json.Marshal(fields)
	sum := sha256.Sum256(canonical)
	image, _ := fields["image"].(string)
	return strings.TrimSpace(image + " " + hex.EncodeToString(sum[:3])), replicas
}

// history holds requests and results, by object, since the last restore of the store.
type history struct {
	mu    sync.Mutex
	clock int64
	ops   map[api.Ref][]*noted
	// past holds the histories before each restore: a restored store begins a new one.
	past []map[api.Ref][]*noted
}

type noted struct {
	h    *history
	op   porcupine.Operation
	over bool
}

func (h *history) called(ref api.Ref, in input) *noted {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ops == nil {
		h.ops = map[api.Ref][]*noted{}
	}
	h.clock++
	n := &noted{h: h, op: porcupine.Operation{Input: in, Call: h.clock, Output: output{answer: open},
		Return: math.MaxInt64}}
	h.ops[ref] = append(h.ops[ref], n)
	return n
}

func (n *noted) answered(a answer) {
	n.h.mu.Lock()
	defer n.h.mu.Unlock()
	if a == open {
		return
	}
	n.h.clock++
	n.op.Output, n.op.Return, n.over = output{answer: a}, n.h.clock, true
}

// saw records the state that a server showed.
func (n *noted) saw(state declared) {
	n.h.mu.Lock()
	defer n.h.mu.Unlock()
	n.h.clock++
	n.op.Output, n.op.Return, n.over = output{answer: done, read: state}, n.h.clock, true
}

// read records the declared state, as it is in the store.
func (h *history) read(ref api.Ref, state declared) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := h.ops[ref]
	if last := len(ops) - 1; last >= 0 {
		if out, _ := ops[last].op.Output.(output); ops[last].op.Input == (input{verb: "read"}) && out.read == state {
			return // nothing happened since the last read
		}
	} else if !state.there {
		return
	}
	h.clock += 2
	n := &noted{h: h, over: true, op: porcupine.Operation{
		Input: input{verb: "read"}, Output: output{answer: done, read: state}, Call: h.clock - 1, Return: h.clock,
	}}
	if h.ops == nil {
		h.ops = map[api.Ref][]*noted{}
	}
	h.ops[ref] = append(ops, n)
}

// restored begins a new history: a restore may undo earlier results.
func (h *history) restored() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past = append(h.past, h.ops)
	h.ops = nil
}

// model defines how verbs change the declared state of one object.
var model = porcupine.Model{
	Init: func() any { return declared{anything: true} },
	Step: func(state, in, out any) (bool, any) {
		return next(state.(declared), in.(input), out.(output))
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v: %v", in, out) },
}

// plainly are the verbs for which "not found" can only mean the object itself, not a release or an ordinal of it.
var plainly = []string{"delete", "scale", "restart"}

func next(s declared, in input, out output) (bool, any) {
	switch {
	case in.verb == "see" && out.answer != done:
		return true, s
	case in.verb == "read", in.verb == "see":
		return matches(s, out.read), out.read
	case out.answer == refused, out.answer == absent && !slices.Contains(plainly, in.verb):
		return true, s
	case out.answer == absent:
		gone := s.anything || !s.there || s.deleting
		if s.anything {
			return true, s
		}
		return gone, declared{}
	}
	lives := s.anything || s.there && !s.deleting
	switch in.verb {
	case "apply": // an apply onto an object that is being deleted succeeds once that is gone
		return true, declared{there: true, spec: in.spec, replicas: in.replicas}
	case "delete":
		if out.answer == open && !s.anything && !s.there {
			return true, s
		}
		return s.anything || s.there, declared{there: true, deleting: true, spec: s.spec, replicas: s.replicas,
			anything: s.anything}
	case "scale":
		if out.answer == open && !lives {
			return true, s
		}
		s.replicas = in.replicas
		return lives, s
	case "rollback":
		if out.answer == open && !lives {
			return true, s
		}
		s.spec = "*"
		return lives, s
	}
	return lives || s.there || out.answer == open, s // pods of an object that goes can be stopped too
}

// matches reports whether a state may be read as it was.
func matches(s, read declared) bool {
	switch {
	case s.anything:
		return true
	case s.deleting && !read.there:
		return true // it is gone by now
	case s.there != read.there || s.deleting != read.deleting:
		return false
	}
	return !s.there || s.replicas == read.replicas && (s.spec == "*" || s.spec == read.spec)
}

// searchSteps bounds the search for a valid order. A timeout can't: virtual time stands still while the search
// computes.
const searchSteps = 5_000_000

// illegal reports whether no order explains a history. A history whose search exceeds the bound counts as legal.
func illegal(history []porcupine.Operation) bool {
	bounded, steps := model, 0
	bounded.Step = func(state, in, out any) (bool, any) {
		if steps++; steps > searchSteps {
			return false, state
		}
		return model.Step(state, in, out)
	}
	return !porcupine.CheckOperations(bounded, history) && steps <= searchSteps
}

// judge checks that every run was requested, and every object's history.
func (p *people) judge(w *World) {
	if made, asked := w.archive.manualRuns(), p.runs.Load(); int64(made) > asked {
		w.fail("%d runs were made, and people asked for %d", made, asked)
	}
	p.history.restored()
	for _, ops := range p.history.past {
		for ref, noted := range ops {
			if !ref.Kind.HasContainers() {
				continue
			}
			history := make([]porcupine.Operation, len(noted))
			for i, n := range noted {
				history[i] = n.op
			}
			if illegal(history) {
				w.fail("what was answered about %s fits no order:\n%s", ref, describe(history))
			}
		}
	}
}

func describe(ops []porcupine.Operation) string {
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var out strings.Builder
	for _, op := range ops {
		end := fmt.Sprint(op.Return)
		if op.Return == math.MaxInt64 {
			end = "never"
		}
		fmt.Fprintf(&out, "    [%d, %s] %v: %+v\n", op.Call, end, op.Input, op.Output)
	}
	return out.String()
}
