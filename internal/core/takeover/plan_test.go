package takeover_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"tend.dev/tend/internal/core/takeover"
)

// TestPlan replays takeovers. Rewrite testdata/plan.txt with -rewrite.
func TestPlan(t *testing.T) {
	m := newMachine()
	datadriven.RunTest(t, "testdata/plan.txt", func(t *testing.T, d *datadriven.TestData) string {
		goal := takeover.Adopt
		if d.HasArg("undo") {
			goal = takeover.Undo
		} else if d.HasArg("finish") {
			goal = takeover.Finish
		}
		switch d.Cmd {
		case "project": // a service a line: name, then container=state/policy, needs=, writes=
			m = newMachine()
			for line := range strings.Lines(d.Input) {
				m.add(t, strings.Fields(line))
			}
			return m.String()
		case "broken":
			m.broken[d.CmdArgs[0].Key] = !d.HasArg("mended")
			return ""
		case "turn": // to the other scope
			m.turn()
			return "scope " + m.scope + "\n" + m.String()
		case "engine-restarts":
			m.restart()
			return m.String()
		case "plan":
			var out strings.Builder
			steps, err := takeover.Plan(m.scope, m.list(), goal)
			if err == nil {
				err = m.begin(goal)
			}
			if err != nil {
				return "refused: " + err.Error() + "\n"
			}
			for _, step := range steps {
				fmt.Fprintln(&out, step)
			}
			if left := takeover.Unfinished(m.list()); len(left) > 0 {
				fmt.Fprintf(&out, "(unfinished: %s)\n", strings.Join(left, ", "))
			}
			return out.String()
		case "steps": // carries out so many steps; a crash follows
			var n int
			d.ScanArgs(t, "n", &n)
			var out strings.Builder
			if err := m.begin(goal); err != nil {
				return "refused: " + err.Error() + "\n"
			}
			for range n {
				step, left, err := m.next(goal)
				if !left {
					break
				}
				fmt.Fprintln(&out, step)
				if err != nil {
					fmt.Fprintln(&out, "error:", err)
				}
			}
			return out.String() + m.String()
		}
		t.Fatalf("no such command: %s", d.Cmd)
		return ""
	})
	if m.second > 0 {
		t.Errorf("%d times two programs wrote to a volume", m.second)
	}
}

// finish carries out steps until none is left.
func (m *machine) finish(t *rapid.T, goal takeover.Goal) {
	for range 200 {
		step, left, err := m.next(goal)
		if err != nil {
			t.Fatalf("%s failed: %s", step, err)
		}
		if !left {
			return
		}
	}
	t.Fatalf("%s never ends:\n%s", goal, m)
}

// wander begins adoptions and undos, leaves them, restarts the engine in between, and turns to the other scope.
func (m *machine) wander(t *rapid.T) (restarted bool) {
	for range rapid.IntRange(0, 4).Draw(t, "attempts") {
		if rapid.IntRange(0, 3).Draw(t, "other scope") == 0 {
			m.turn()
		}
		goal := rapid.SampledFrom([]takeover.Goal{takeover.Adopt, takeover.Undo}).Draw(t, "goal")
		if m.begin(goal) != nil {
			continue
		}
		for range rapid.IntRange(0, 12).Draw(t, "steps before the crash") {
			if _, left, err := m.next(goal); !left || err != nil {
				break
			}
		}
		if rapid.Bool().Draw(t, "engine restarts") {
			m.restart()
			restarted = true
		}
	}
	return restarted
}

// TestConverges: whatever was begun and left, and however often the engine restarts in between, an adoption ends with
// every service that ran in Tend's hands, an undo with everything as it was, and no two programs write to one volume.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := someProject(t)
		was := newMachine()
		for _, s := range m.list() {
			was.services[s.Name] = &s
		}
		if m.begin(takeover.Adopt) != nil {
			return
		}
		ran := map[string]bool{}
		for _, s := range m.list() {
			ran[s.Name] = s.Taken()
		}
		restarted := m.wander(t)
		if m.begin(takeover.Undo) != nil {
			m.turn() // to the scope in which it was taken over
		}
		if rapid.Bool().Draw(t, "undo") {
			m.finish(t, takeover.Undo)
			for _, s := range m.services {
				if s.Once {
					s.State = takeover.None // it may stay declared
				}
			}
			if restarted { // which starts containers in Compose, too
				was.restart()
				m.restart()
			}
			if m.String() != was.String() {
				t.Fatalf("undone:\n%s\nit was:\n%s", m, was)
			}
		} else if m.begin(takeover.Adopt) == nil {
			m.finish(t, takeover.Adopt)
			for name, s := range m.services {
				if ran[name] && s.State != takeover.Good {
					t.Fatalf("%s is %s", name, s.State)
				}
				if ran[name] && slices.ContainsFunc(s.Containers, func(c takeover.Container) bool { return c.Running }) {
					t.Fatalf("a container of %s runs beside Tend's", name)
				}
			}
			if left := takeover.Unfinished(m.list()); len(left) > 0 {
				t.Fatalf("unfinished: %v", left)
			}
			m.restart()
		}
		if m.second > 0 {
			t.Fatalf("two programs wrote to a volume:\n%s", m)
		}
	})
}

// TestSecondScope: where the names of the containers don't say into which scope they were taken over, what the engine
// shows keeps the pods of one scope from running beside those of another, or beside the old containers.
func TestSecondScope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := someProject(t)
		m.nameless = true
		m.wander(t)
		if m.second > 0 {
			t.Fatalf("two programs wrote to a volume:\n%s", m)
		}
	})
}

// TestUnits: a service comes after those it needs, unless they need it too; services that share a volume are together.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		services := someProject(t).list()
		units := takeover.Units(services)
		place := map[string]int{}
		for i, unit := range units {
			for _, s := range unit {
				place[s.Name] = i
			}
		}
		for _, s := range services {
			if at, there := place[s.Name]; there != s.Taken() {
				t.Fatalf("%s is in unit %d: %v", s.Name, at, there)
			}
		}
		for _, a := range services {
			for _, b := range services {
				shared := slices.ContainsFunc(a.Writes, func(v string) bool { return slices.Contains(b.Writes, v) })
				if a.Taken() && b.Taken() && shared && place[a.Name] != place[b.Name] {
					t.Fatalf("%s and %s share a volume and are apart", a.Name, b.Name)
				}
			}
		}
		if acyclic(units) {
			for _, s := range services {
				for _, needed := range s.Needs {
					if at, there := place[needed]; there && s.Taken() && at > place[s.Name] {
						t.Fatalf("%s needs %s, which comes later", s.Name, needed)
					}
				}
			}
		}
	})
}

// acyclic reports whether no unit needs itself by way of others.
func acyclic(units [][]takeover.Service) bool {
	of := map[string]int{}
	for i, unit := range units {
		for _, s := range unit {
			of[s.Name] = i
		}
	}
	reach := make([][]bool, len(units))
	for i, unit := range units {
		reach[i] = make([]bool, len(units))
		for _, s := range unit {
			for _, needed := range s.Needs {
				if at, there := of[needed]; there && at != i {
					reach[i][at] = true
				}
			}
		}
	}
	for k := range units {
		for i := range units {
			for j := range units {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	for i := range units {
		if reach[i][i] {
			return false
		}
	}
	return true
}
