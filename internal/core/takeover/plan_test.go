package takeover_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"tend.dev/tend/internal/core/takeover"
)

// machine is an engine and a store that carry out steps.
type machine struct {
	services map[string]*takeover.Service
	// broken are the services whose objects never become good.
	broken map[string]bool
	// applied is the service whose object is being applied.
	applied string
	// second counts the moments in which two programs wrote to a volume.
	second int
}

func newMachine() *machine {
	return &machine{services: map[string]*takeover.Service{}, broken: map[string]bool{}}
}

func (m *machine) list() []takeover.Service {
	var out []takeover.Service
	for _, name := range slices.Sorted(maps.Keys(m.services)) {
		s := *m.services[name]
		s.Containers = slices.Clone(s.Containers)
		out = append(out, s)
	}
	return out
}

// do carries out one step; it fails only for what is broken.
func (m *machine) do(step takeover.Step) error {
	defer m.look()
	switch step.Verb {
	case takeover.Apply:
		for _, name := range step.Services {
			m.services[name].State, m.applied = takeover.Stored, name
			m.look()
			m.applied = ""
			if m.broken[name] {
				return fmt.Errorf("%s is not good", name)
			}
			m.services[name].State = takeover.Good
		}
		return nil
	case takeover.Withdraw:
		for _, name := range step.Services {
			m.services[name].State = takeover.None
		}
		return nil
	}
	containers := m.services[step.Services[0]].Containers
	at := slices.IndexFunc(containers, func(c takeover.Container) bool { return c.ID == step.Container.ID })
	c := &containers[at]
	switch step.Verb {
	case takeover.Mark, takeover.Unmark:
		c.Name = step.Name
	case takeover.Disarm, takeover.Rearm:
		c.Restart = step.Restart
	case takeover.Stop:
		c.Running = false
	case takeover.Start:
		c.Running = true
	case takeover.Remove:
		m.services[step.Services[0]].Containers = slices.Delete(containers, at, at+1)
	}
	return nil
}

// look counts a container of Compose that runs beside a pod, on a volume of both.
func (m *machine) look() {
	for _, ours := range m.services {
		if ours.Once && ours.Name != m.applied {
			continue // it has ended
		}
		for _, theirs := range m.services {
			runs := slices.ContainsFunc(theirs.Containers, func(c takeover.Container) bool { return c.Running })
			shared := slices.ContainsFunc(ours.Writes, func(v string) bool { return slices.Contains(theirs.Writes, v) })
			if ours.State != takeover.None && runs && shared {
				m.second++
			}
		}
	}
}

// restart is the engine's restart: it starts what its policies cover.
func (m *machine) restart() {
	for _, s := range m.services {
		for i := range s.Containers {
			c := &s.Containers[i]
			c.Running = c.Running || c.Restart == "always" || c.Restart == "on-failure:3"
		}
	}
	m.look()
}

func (m *machine) String() string {
	var out strings.Builder
	for _, s := range m.list() {
		fmt.Fprintf(&out, "%s: %s", s.Name, s.State)
		if s.Once {
			out.WriteString(", runs once")
		}
		for _, c := range s.Containers {
			state := "stopped"
			if c.Running {
				state = "running"
			}
			fmt.Fprintf(&out, "; %s %s, restart %s", c.Name, state, c.Restart)
		}
		out.WriteString("\n")
	}
	return out.String()
}

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
		case "engine-restarts":
			m.restart()
			return m.String()
		case "plan":
			var out strings.Builder
			for _, step := range takeover.Plan(m.list(), goal) {
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
			for range n {
				steps := takeover.Plan(m.list(), goal)
				if len(steps) == 0 {
					break
				}
				fmt.Fprintln(&out, steps[0])
				if err := m.do(steps[0]); err != nil {
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

func (m *machine) add(t *testing.T, words []string) {
	t.Helper()
	s := &takeover.Service{Name: words[0], State: takeover.None}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "once":
			s.Once = true
		case "needs":
			s.Needs = strings.Split(value, ",")
		case "writes":
			s.Writes = strings.Split(value, ",")
		default:
			state, policy, ok := strings.Cut(value, "/")
			if !ok {
				t.Fatalf("%s: want container=state/policy", word)
			}
			s.Containers = append(s.Containers, takeover.Container{ID: key, Name: key, Running: state == "running", Restart: policy})
		}
	}
	m.services[s.Name] = s
}

var policies = []string{"no", "always", "unless-stopped", "on-failure", "on-failure:3"}

func someProject(t *rapid.T) *machine {
	m := newMachine()
	names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "services")]
	for _, name := range names {
		s := &takeover.Service{Name: name, State: takeover.None,
			Needs:  rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "needs"),
			Writes: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"v1", "v2", "v3"}), rapid.ID).Draw(t, "writes")}
		if rapid.IntRange(0, 3).Draw(t, "once") == 0 {
			s.Once = true
			s.Containers = []takeover.Container{{ID: name, Name: "p-" + name + "-1", Restart: "no"}}
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "containers") {
			if s.Once {
				break
			}
			s.Containers = append(s.Containers, takeover.Container{
				ID: fmt.Sprintf("%s%d", name, i), Name: fmt.Sprintf("p-%s-%d", name, i),
				Running: rapid.Bool().Draw(t, "running"), Restart: rapid.SampledFrom(policies).Draw(t, "restart")})
		}
		m.services[name] = s
	}
	return m
}

// TestConverges: whatever was begun and left, and however often the engine restarts in between, an adoption ends with
// every service that ran in Tend's hands, an undo with everything as it was, and no two programs write to one volume.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := someProject(t)
		before, ran := m.String(), map[string]bool{}
		quiet := true // no container would be started by the engine's restart alone
		for _, s := range m.list() {
			ran[s.Name] = s.Taken()
			for _, c := range s.Containers {
				quiet = quiet && (c.Running || c.Restart == "no" || c.Restart == "unless-stopped" || c.Restart == "on-failure")
			}
		}
		finish := func(goal takeover.Goal) {
			for range 200 {
				steps := takeover.Plan(m.list(), goal)
				if len(steps) == 0 {
					return
				}
				if m.do(steps[0]) != nil {
					t.Fatalf("%s failed", steps[0])
				}
			}
			t.Fatalf("%s never ends:\n%s", goal, m)
		}
		for range rapid.IntRange(0, 4).Draw(t, "attempts") {
			goal := rapid.SampledFrom([]takeover.Goal{takeover.Adopt, takeover.Undo}).Draw(t, "goal")
			for range rapid.IntRange(0, 12).Draw(t, "steps before the crash") {
				steps := takeover.Plan(m.list(), goal)
				if len(steps) == 0 {
					break
				}
				_ = m.do(steps[0])
			}
			if quiet && rapid.Bool().Draw(t, "engine restarts") {
				m.restart()
			}
		}
		if rapid.Bool().Draw(t, "undo") {
			finish(takeover.Undo)
			for _, s := range m.services {
				if s.Once {
					s.State = takeover.None // it may stay declared
				}
			}
			if quiet && m.String() != before {
				t.Fatalf("undone:\n%s\nit was:\n%s", m, before)
			}
		} else {
			finish(takeover.Adopt)
			for name, s := range m.services {
				if ran[name] && s.State != takeover.Good {
					t.Fatalf("%s is %s", name, s.State)
				}
				if slices.ContainsFunc(s.Containers, func(c takeover.Container) bool { return c.Running }) {
					t.Fatalf("a container of %s runs beside Tend's", name)
				}
			}
			if left := takeover.Unfinished(m.list()); len(left) > 0 {
				t.Fatalf("unfinished: %v", left)
			}
		}
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
