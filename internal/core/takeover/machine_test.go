package takeover_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/core/volumes"
)

// machine is an engine and a store that carry out steps. It has a second scope, in which nothing is stored at first.
type machine struct {
	services map[string]*takeover.Service
	scope    string
	// elsewhere is the state of the services' objects in the other scope.
	elsewhere map[string]takeover.State
	// broken are the services whose objects never become good.
	broken map[string]bool
	// applied is the service whose object is being applied.
	applied string
	// nameless takes the scope out of the names that containers get.
	nameless bool
	// second counts the moments in which two programs wrote to a volume.
	second int
}

func newMachine() *machine {
	return &machine{services: map[string]*takeover.Service{}, scope: "one", elsewhere: map[string]takeover.State{},
		broken: map[string]bool{}}
}

// turn changes the scope that the commands are about.
func (m *machine) turn() {
	m.scope = map[string]string{"one": "two", "two": "one"}[m.scope]
	for name, s := range m.services {
		state := m.elsewhere[name]
		if state == "" {
			state = takeover.None
		}
		m.elsewhere[name], s.State = s.State, state
	}
}

// pods says in which scopes a service has pods. What runs once has ended, but while it is applied.
func (m *machine) pods(s *takeover.Service) (scopes []string) {
	if s.Once && s.Name != m.applied {
		return nil
	}
	if s.State != takeover.None {
		scopes = append(scopes, m.scope)
	}
	if state := m.elsewhere[s.Name]; !s.Once && state != "" && state != takeover.None {
		scopes = append(scopes, "not "+m.scope)
	}
	return scopes
}

// neighbours are what the engine shows.
func (m *machine) neighbours() (out []takeover.Neighbour) {
	for _, s := range m.services {
		for _, c := range s.Containers {
			if waits := !c.Running && startsWithEngine(c); waits || c.Running {
				out = append(out, takeover.Neighbour{ID: c.ID, Waits: waits, Container: volumes.Container{
					Name: c.Name, Writes: s.Writes,
					Labels: map[string]string{volumes.LabelProject: "p", volumes.LabelService: s.Name}}})
			}
		}
		for _, scope := range m.pods(s) {
			out = append(out, takeover.Neighbour{ID: scope + s.Name, Container: volumes.Container{
				Name: scope + s.Name, Writes: s.Writes, Labels: map[string]string{api.LabelScope: scope, api.LabelName: s.Object}}})
		}
	}
	slices.SortFunc(out, func(a, b takeover.Neighbour) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// begin refuses what the command refuses before it changes anything.
func (m *machine) begin(goal takeover.Goal) error {
	if _, err := takeover.Plan(m.scope, m.list(), goal); err != nil || goal != takeover.Adopt {
		return err
	}
	return m.project().Blocked(m.list(), m.neighbours())
}

func (m *machine) project() takeover.Project { return takeover.Project{Name: "p", Scope: m.scope} }

func startsWithEngine(c takeover.Container) bool {
	return c.Restart == "always" || c.Restart == "on-failure:3"
}

// next carries out the first step that is left.
func (m *machine) next(goal takeover.Goal) (takeover.Step, bool, error) {
	steps, err := takeover.Plan(m.scope, m.list(), goal)
	if err != nil || len(steps) == 0 {
		return takeover.Step{}, false, err
	}
	return steps[0], true, m.do(steps[0])
}

func (m *machine) list() []takeover.Service {
	var out []takeover.Service
	for _, name := range slices.Sorted(maps.Keys(m.services)) {
		s := *m.services[name]
		s.Containers = slices.Clone(s.Containers)
		for i, c := range s.Containers {
			s.Containers[i].Waits = !c.Running && startsWithEngine(c)
		}
		out = append(out, s)
	}
	return out
}

// do carries out one step; it fails for what is broken, and for what would be a second writer.
func (m *machine) do(step takeover.Step) error {
	defer m.look()
	if err := m.project().Beside(m.list(), step, m.neighbours()); err != nil {
		return err
	}
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
		if m.nameless {
			c.Name = strings.TrimSuffix(c.Name, "."+m.scope)
		}
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

// look counts a container of Compose, or a pod of the other scope, that runs beside a pod on a volume of both.
func (m *machine) look() {
	for _, ours := range m.services {
		for _, theirs := range m.services {
			if !slices.ContainsFunc(ours.Writes, func(v string) bool { return slices.Contains(theirs.Writes, v) }) {
				continue
			}
			runs := slices.ContainsFunc(theirs.Containers, func(c takeover.Container) bool { return c.Running })
			for _, scope := range m.pods(ours) {
				if runs || slices.ContainsFunc(m.pods(theirs), func(other string) bool { return other != scope }) {
					m.second++
				}
			}
		}
	}
}

// restart is the engine's restart: it starts what its policies cover.
func (m *machine) restart() {
	for _, s := range m.services {
		for i := range s.Containers {
			c := &s.Containers[i]
			c.Running = c.Running || startsWithEngine(*c)
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

func (m *machine) add(t *testing.T, words []string) {
	t.Helper()
	s := &takeover.Service{Name: words[0], Object: words[0], State: takeover.None}
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
			s.Containers = append(s.Containers,
				takeover.Container{ID: key, Name: key, Running: state == "running", Restart: policy})
		}
	}
	m.services[s.Name] = s
}

var policies = []string{"no", "always", "unless-stopped", "on-failure", "on-failure:3"}

func someProject(t *rapid.T) *machine {
	m := newMachine()
	names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "services")]
	for _, name := range names {
		s := &takeover.Service{Name: name, Object: name, State: takeover.None,
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
