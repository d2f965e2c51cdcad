package takeover

import (
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
)

// Neighbour is a container on the engine, of Compose, of Tend or of neither.
type Neighbour struct {
	ID string
	volumes.Container
	// Waits is set for one that doesn't run, and that the engine's next start would start.
	Waits bool
}

// ScopeError reports that a container was already taken over into another scope.
type ScopeError struct {
	Container Container
	Scope     string
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("%s was taken over into the scope %s", e.Container.Original(), e.Scope)
}

// InScope returns a *ScopeError if one of the containers was taken over into another scope: what a plan finds in this
// one would say nothing about the pods that replace it.
func InScope(containers []Container, scope string) error {
	for _, c := range containers {
		if m, is := readMark(c.Name); is && m.scope != "" && m.scope != scope {
			return &ScopeError{Container: c, Scope: m.scope}
		}
	}
	return nil
}

// WriterError names the container that would be the second writer.
type WriterError struct {
	volumes.Writer
	// Waits is set if the container is stopped and the next start of the engine would start it.
	Waits bool
	// Scope is the scope of its object; empty if Tend didn't create the container.
	Scope string
}

func (e *WriterError) Error() string {
	if e.Waits {
		return fmt.Sprintf("container %s, which is stopped, writes to %s, and its restart policy starts it with the engine",
			e.Container, e.Source)
	}
	return e.Detail()
}

// Project names what is taken over, and into which scope.
type Project struct {
	Name, Scope string
}

// Beside returns a *WriterError if a running container writes to a volume or folder that a step would let a second one
// write to. Containers of one project may share it, as they do in Compose.
func (p Project) Beside(services []Service, step Step, running []Neighbour) error {
	var about []Service
	for _, s := range services {
		if slices.Contains(step.Services, s.Name) {
			about = append(about, s)
		}
	}
	return second(about, slices.DeleteFunc(slices.Clone(running), func(n Neighbour) bool {
		return n.Waits || p.belongs(services, step.Verb, n)
	}))
}

// belongs reports whether a container may run beside what a step starts.
func (p Project) belongs(services []Service, verb Verb, n Neighbour) bool {
	switch verb {
	case Start, Rearm:
		return n.Labels[volumes.LabelProject] == p.Name && n.Labels[api.LabelCluster] == ""
	case Apply:
		return p.pod(services, n)
	}
	return true
}

// pod reports whether a container is a pod of the project's own objects.
func (p Project) pod(services []Service, n Neighbour) bool {
	return n.Labels[api.LabelScope] == p.Scope && slices.ContainsFunc(services, func(s Service) bool {
		return s.State != None && s.Object == n.Labels[api.LabelName]
	})
}

// Blocked returns a *WriterError if a container would write beside the pods of what is about to be taken over, and the
// takeover doesn't stop it: one that runs, or that the engine's next start would start.
func (p Project) Blocked(services []Service, all []Neighbour) error {
	var taken []Service
	stopped := map[string]bool{}
	for _, s := range services {
		if !s.Taken() {
			continue
		}
		taken = append(taken, s)
		for _, c := range s.Containers {
			stopped[c.ID] = true
		}
	}
	return second(taken, slices.DeleteFunc(slices.Clone(all),
		func(n Neighbour) bool { return stopped[n.ID] || p.pod(services, n) }))
}

// second returns the first of other containers that writes to what one of the services writes to.
func second(services []Service, others []Neighbour) error {
	plain := make([]volumes.Container, len(others))
	for i, n := range others {
		plain[i] = n.Container
	}
	for _, s := range services {
		writer, found := volumes.SecondWriter(s.Writes, map[string]string{api.SharedVolumes: s.Shared}, plain)
		if !found {
			continue
		}
		of := others[slices.IndexFunc(others, func(n Neighbour) bool { return n.Name == writer.Container })]
		return &WriterError{Writer: writer, Waits: of.Waits, Scope: of.Labels[api.LabelScope]}
	}
	return nil
}
