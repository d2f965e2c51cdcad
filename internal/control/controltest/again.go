package controltest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

// WithoutMemory returns a Shell that takes the same steps: each of its passes decides about every object.
func WithoutMemory(c *control.Shell) *control.Shell {
	kind := c.Kind
	kind.Rests = false
	return control.New(c.Deps, kind)
}

// Agrees checks that a pass, which remembers objects that need nothing, finds what one finds that decides again.
func Agrees(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, c *control.Shell, now time.Time,
) {
	t.Helper()
	if diff := cmp.Diff(names(WithoutMemory(c).Dirty(now)), names(c.Dirty(now))); diff != "" {
		t.Fatalf("%s: the pass differs from what is decided again:\n%s", c.Name(), diff)
	}
}

func names(keys []reconciler.Key) map[string]bool {
	out := map[string]bool{}
	for _, key := range keys {
		out[key.Scope+"/"+key.Name] = true
	}
	return out
}

// Counted counts the steps of a kind that are taken.
func Counted(kind control.Kind, steps *int) control.Kind {
	step := kind.Step
	kind.Step = func(o control.Observation) (control.Step, error) { *steps++; return step(o) }
	return kind
}

// RestsOverReports checks that a node that reports what no object at rest depends on costs a pass no step, and one
// whose engine goes away does.
func (w *World) RestsOverReports(kind control.Kind) {
	w.Helper()
	steps := 0
	c := control.New(w.Deps(), Counted(kind, &steps))
	pass := func() int {
		w.Helper()
		steps = 0
		if dirty := c.Dirty(time.Now()); len(dirty) > 0 {
			w.Fatalf("%v is dirty", dirty)
		}
		return steps
	}
	if pass() == 0 {
		w.Error("the first pass decides nothing")
	}
	report := func(change func(*api.NodeStatus)) {
		w.Write(func(txn *records.Txn) {
			for _, node := range w.Snapshot().Nodes() {
				status := *node.Value
				change(&status)
				txn.Put(records.NodeKey(status.ID), status)
			}
		})
	}
	report(func(s *api.NodeStatus) { s.Quarantined, s.MemoryBytes = []string{"a container"}, s.MemoryBytes-1 })
	if n := pass(); n > 0 {
		w.Errorf("a report costs %d steps", n)
	}
	report(func(s *api.NodeStatus) { s.Ready, s.Message = false, "no engine" })
	if pass() == 0 {
		w.Error("an engine that is away costs no step")
	}
}
