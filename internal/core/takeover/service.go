package takeover

import (
	"cmp"
	"slices"
	"strings"
)

// State is the state of a service in the store.
type State string

// The states of a service's objects.
const (
	None   State = "none"
	Stored State = "stored" // but not as wanted, or not ready
	Good   State = "good"
)

// Container is a container that Compose made.
type Container struct {
	ID, Name string
	// Running is set while its process may run: also while the engine is about to restart it.
	Running bool
	// Restart is the engine's policy: no, always, unless-stopped, on-failure[:N].
	Restart string
	// Waits is set for one that doesn't run, and that its restart policy starts with the engine: one that failed, by
	// on-failure.
	Waits bool
}

// Original returns the name that Compose gave it.
func (c Container) Original() string {
	m, _ := readMark(c.Name)
	return m.original
}

// Marked reports whether it was taken over, or is about to be.
func (c Container) Marked() bool {
	_, is := readMark(c.Name)
	return is
}

// Live reports whether it runs, or ran until it was taken over.
func (c Container) Live() bool {
	m, is := readMark(c.Name)
	return c.Running || is && !m.stopped
}

// Service is a service of a Compose project.
type Service struct {
	Name       string
	Containers []Container
	State      State
	// Once is set for a service that runs to its end, and whose containers have: nothing is stopped for it, and its object
	// is applied in its turn.
	Once bool
	// Needs are the services that must run before it.
	Needs []string
	// Writes are the volumes and folders that it may write to.
	Writes []string
	// Object is the name of its workload, and Shared the volumes that several programs may write to, as its label says.
	Object, Shared string
}

// Taken reports whether the service is taken over: one of its containers runs, or was stopped for that, or it runs
// once. Others were stopped by a person, or never started.
func (s Service) Taken() bool {
	return s.Once || slices.ContainsFunc(s.Containers, func(c Container) bool { return c.Running || c.Marked() })
}

// Units returns the services that are taken over, those together that write to one volume, and each unit after those
// that its services need.
func Units(services []Service) [][]Service {
	var taken []Service
	for _, s := range services {
		if s.Taken() {
			taken = append(taken, s)
		}
	}
	slices.SortFunc(taken, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	return inOrder(together(taken))
}

// together groups the services that share what they write to.
func together(services []Service) [][]Service {
	var units [][]Service
	for _, s := range services {
		unit := []Service{s}
		rest := units[:0:0]
		for _, other := range units {
			if slices.ContainsFunc(other, func(o Service) bool { return shareVolume(o, s) }) {
				unit = append(unit, other...)
			} else {
				rest = append(rest, other)
			}
		}
		slices.SortFunc(unit, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
		rest = append(rest, unit)
		units = rest
	}
	slices.SortFunc(units, func(a, b []Service) int { return cmp.Compare(a[0].Name, b[0].Name) })
	return units
}

func shareVolume(a, b Service) bool {
	return slices.ContainsFunc(a.Writes, func(source string) bool { return slices.Contains(b.Writes, source) })
}

// inOrder puts each unit after those it needs. Where units need each other, the first by name comes first.
func inOrder(units [][]Service) [][]Service {
	var out [][]Service
	for len(units) > 0 {
		next := max(slices.IndexFunc(units, func(unit []Service) bool { return !needs(unit, units) }), 0)
		out = append(out, units[next])
		units = slices.Delete(slices.Clone(units), next, next+1)
	}
	return out
}

// needs reports whether a unit needs a service of another one.
func needs(unit []Service, others [][]Service) bool {
	for _, other := range others {
		if other[0].Name == unit[0].Name {
			continue
		}
		for _, s := range unit {
			if slices.ContainsFunc(other, func(o Service) bool { return slices.Contains(s.Needs, o.Name) }) {
				return true
			}
		}
	}
	return false
}

// Names lists the services of a unit.
func Names(unit []Service) string {
	names := make([]string, len(unit))
	for i, s := range unit {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}
