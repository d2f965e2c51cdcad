package takeover

import (
	"fmt"
	"slices"
	"strings"
)

// Goal is the end that a plan leads to.
type Goal string

// The goals.
const (
	Adopt  Goal = "adopt"  // Tend runs the services, and the containers of Compose are stopped
	Undo   Goal = "undo"   // Compose's containers run again, and Tend has no objects of them
	Finish Goal = "finish" // the stopped containers are removed
)

// Verb is the kind of a step.
type Verb string

// The steps.
const (
	Mark     Verb = "mark"     // rename a container, so that its name says that it is taken over
	Disarm   Verb = "disarm"   // switch its restart policy off
	Stop     Verb = "stop"     // stop it, with its own grace period
	Apply    Verb = "apply"    // apply the objects of services, and wait until they are good
	Withdraw Verb = "withdraw" // delete the objects, without volumes, and wait until their pods are gone
	Rearm    Verb = "rearm"    // restore its restart policy
	Start    Verb = "start"    // start it
	Unmark   Verb = "unmark"   // give it its own name again
	Remove   Verb = "remove"   // remove a stopped container, without volumes that have a name
)

// Step is one step of a takeover.
type Step struct {
	Verb Verb
	// Services lists the services whose objects Apply and Withdraw change; for the other verbs, the container's
	// service.
	Services []string
	// Container is the container to change, Name its new name (Mark, Unmark), Restart its new restart policy (Disarm,
	// Rearm).
	Container Container
	Name      string
	Restart   string
}

// String returns the line that people read.
func (s Step) String() string {
	switch s.Verb {
	case Apply, Withdraw:
		return fmt.Sprintf("%s %s", s.Verb, strings.Join(s.Services, ", "))
	case Mark, Unmark:
		return fmt.Sprintf("rename %s to %s", s.Container.Name, s.Name)
	case Disarm, Rearm:
		return fmt.Sprintf("set the restart policy of %s to %s", s.Container.Name, s.Restart)
	}
	return fmt.Sprintf("%s %s", s.Verb, s.Container.Name)
}

// Plan returns the steps that lead to the goal in a scope, in order; none if it is reached. Carry out the first one,
// observe again and plan again. It is a *ScopeError if a container was taken over into another scope.
func Plan(scope string, services []Service, goal Goal) ([]Step, error) {
	for _, s := range services {
		if err := InScope(s.Containers, scope); err != nil {
			return nil, err
		}
	}
	units := Units(services)
	if goal == Undo {
		slices.Reverse(units)
	}
	var steps []Step
	for _, unit := range units {
		switch goal {
		case Adopt:
			steps = append(steps, adopt(scope, unit)...)
		case Undo:
			steps = append(steps, undo(unit)...)
		case Finish:
			steps = append(steps, finish(unit)...)
		}
	}
	return steps, nil
}

// adopt stops the containers of a unit, all of them before any of its objects is applied.
func adopt(scope string, unit []Service) (steps []Step) {
	var wanted []string
	for _, s := range unit {
		for _, c := range s.Containers {
			if !s.Once || c.Waits {
				steps = append(steps, halt(scope, s.Name, c)...)
			}
		}
		if s.State != Good {
			wanted = append(wanted, s.Name)
		}
	}
	if len(wanted) > 0 {
		steps = append(steps, Step{Verb: Apply, Services: wanted})
	}
	return steps
}

// halt stops one container. One that is stopped is marked too: its restart policy may start it with the engine.
func halt(scope, service string, c Container) (steps []Step) {
	step := Step{Services: []string{service}}
	if !c.Marked() {
		step.Verb, step.Container, step.Name = Mark, c, markedName(c, scope)
		steps = append(steps, step)
		c.Name, step.Name = step.Name, ""
	}
	step.Container = c
	if c.Restart != neverRestart {
		step.Verb, step.Restart = Disarm, neverRestart
		steps = append(steps, step)
		step.Restart = ""
	}
	if c.Running {
		step.Verb = Stop
		steps = append(steps, step)
	}
	return steps
}

// undo gives the containers of a unit back, once none of its objects is left. A unit without a container that was taken
// over has nothing to give back: what runs once, alone, stays declared.
func undo(unit []Service) (steps []Step) {
	var stored []string
	marked := false
	for _, s := range unit {
		marked = marked || slices.ContainsFunc(s.Containers, Container.Marked)
		if s.State != None {
			stored = append(stored, s.Name)
		}
	}
	if !marked {
		return nil
	}
	if len(stored) > 0 {
		steps = append(steps, Step{Verb: Withdraw, Services: stored})
	}
	for _, s := range unit {
		for _, c := range s.Containers {
			m, is := readMark(c.Name)
			if !is {
				continue
			}
			step := Step{Services: []string{s.Name}, Container: c}
			if c.Restart != m.restart {
				step.Verb, step.Restart = Rearm, m.restart
				steps = append(steps, step)
				step.Restart = ""
			}
			if !c.Running && !m.stopped {
				step.Verb = Start
				steps = append(steps, step)
			}
			step.Verb, step.Name = Unmark, m.original
			steps = append(steps, step)
		}
	}
	return steps
}

// finish removes the stopped containers of services that Tend runs.
func finish(unit []Service) (steps []Step) {
	for _, s := range unit {
		for _, c := range s.Containers {
			if s.State == Good && (c.Marked() || s.Once) && !c.Running {
				steps = append(steps, Step{Verb: Remove, Services: []string{s.Name}, Container: c})
			}
		}
	}
	return steps
}

// Unfinished returns the services that are taken over and that Tend doesn't run yet, or not alone.
func Unfinished(services []Service) []string {
	var out []string
	for _, unit := range Units(services) {
		for _, s := range unit {
			if s.State != Good || slices.ContainsFunc(s.Containers, func(c Container) bool { return c.Running }) {
				out = append(out, s.Name)
			}
		}
	}
	return out
}
