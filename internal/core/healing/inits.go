package healing

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
)

// initRetryDelay is the time between the end of a failed attempt and the next one.
const initRetryDelay = 2 * time.Second

// Init is the declaration of one init container.
type Init struct {
	Name string
	// Timeout limits one attempt; 0 means no limit.
	Timeout time.Duration
	// Retries is the number of times that a failed attempt is repeated.
	Retries int
	// Image is the state of its image on the node.
	Image ImageState
}

// InitContainer is one container of a task that runs before its main one.
type InitContainer struct {
	Container
	// Name is the name of its Init, For the id of the main container it prepares, Attempt its number, from 1.
	Name    string
	For     string
	Attempt int
	// Cause is the cause of its end by the events.
	Cause Cause
}

// Init containers run one after another between the creation of the main container and its first start. Their progress
// is read from the containers themselves: one that passed stays until the main container runs, so a lost report repeats
// nothing. The reported progress (api.InitProgress) stands in for containers that were removed by hand meanwhile. Both
// are bound to the main container's id: another main container starts over, the engine's restarts of one don't.

// initialized takes the next step of the init containers and reports whether all of them have passed.
func (p *planner) initialized() bool {
	if p.clearInits(p.foreign) {
		return false
	}
	progress := p.initProgress()
	for progress.Next < len(p.Inits) {
		init := p.Inits[progress.Next]
		at := p.findInit(init.Name)
		if at == nil || !init.passed(at) {
			p.out.Status.Inits = &progress
			p.runInit(init, at, &progress)
			return false
		}
		progress = api.InitProgress{For: progress.For, Next: progress.Next + 1}
	}
	if len(p.Inits) > 0 {
		progress.Done = true
		p.out.Status.Inits = &progress
	}
	return true
}

// initProgress returns the reported progress of this main container's inits.
func (p *planner) initProgress() api.InitProgress {
	if last := p.Status.Inits; last != nil && last.For == p.Container.ID {
		return *last
	}
	return api.InitProgress{For: p.Container.ID}
}

// runInit takes the next step of the current init. At is its container, nil if there is none.
func (p *planner) runInit(init Init, at *InitContainer, progress *api.InitProgress) {
	if at == nil {
		p.makeInit(init, progress)
		return
	}
	if at.Attempt > progress.Attempt { // created, but not reported
		progress.Attempt, progress.RetryAt = at.Attempt, time.Time{}
	}
	progress.StartedAt = at.StartedAt
	switch at.State {
	case Created:
		p.initStep(Start, init, "")
	case Running, Paused, Restarting:
		p.watchInit(init, at)
	case Removing:
		p.initStep(None, init, "its container is being removed")
		p.out.After = removingRecheck
	case Dead:
		p.initStep(Remove, init, "the engine could not remove its container completely")
	default:
		p.initEnded(init, at, progress)
	}
}

// makeInit creates the next attempt's container. One that vanished unobserved is created again and doesn't count.
func (p *planner) makeInit(init Init, progress *api.InitProgress) {
	if backoff := deadline.Left(progress.RetryAt, p.now, initRetryDelay); backoff > 0 {
		p.awaitRetry(init, progress, backoff)
		return
	}
	if init.Image == ImageMissing {
		p.initStep(Pull, init, p.node()+" pulls its image, which it doesn't have")
		return
	}
	p.initStep(Create, init, "")
	p.out.Action.Attempt = max(progress.Attempt, 1)
	if !progress.RetryAt.IsZero() {
		p.out.Action.Attempt = progress.Attempt + 1
	}
}

func (p *planner) watchInit(init Init, at *InitContainer) {
	left := init.Timeout - p.now.Sub(at.StartedAt)
	if init.Timeout > 0 && left <= 0 {
		p.initStep(Stop, init, "it takes longer than "+init.Timeout.String())
		return
	}
	p.initStep(None, init, "")
	if init.Timeout > 0 {
		p.out.After = left
	}
}

// initEnded handles an attempt that did not pass.
func (p *planner) initEnded(init Init, at *InitContainer, progress *api.InitProgress) {
	switch {
	case at.Cause == CauseEngine:
		p.initStep(Remove, init, "it ended with the engine and runs again")
	case at.Attempt > init.Retries:
		p.endOf(&at.Container, api.TaskFailed, api.ReasonInitFailed, init.failure(at))
	default:
		progress.RetryAt = at.FinishedAt.Add(initRetryDelay)
		if at.FinishedAt.IsZero() || at.FinishedAt.After(p.now) {
			progress.RetryAt = p.now.Add(initRetryDelay)
		}
		if backoff := progress.RetryAt.Sub(p.now); backoff > 0 {
			p.awaitRetry(init, progress, backoff)
			p.down(api.ReasonInitRetry, init.failure(at)+"; it is tried again")
			return
		}
		p.initStep(Remove, init, init.failure(at)+"; it is tried again")
	}
}

func (p *planner) awaitRetry(init Init, progress *api.InitProgress, backoff time.Duration) {
	p.advance(api.TaskPreparing)
	p.down(api.ReasonInitRetry, fmt.Sprintf("init %s failed %d times; it is tried again", init.Name, progress.Attempt))
	p.out.After = backoff
}

// initStep plans one step with an init's container, or none, and reports what is going on.
func (p *planner) initStep(verb Verb, init Init, why string) {
	p.advance(api.TaskPreparing)
	message := fmt.Sprintf("init %s (%d of %d) runs before the container", init.Name,
		p.out.Status.Inits.Next+1, len(p.Inits))
	if why != "" {
		message += "; " + why
	}
	if verb == Create || verb == Start || verb == Pull {
		p.trying(api.ReasonInitializing, message)
	} else {
		p.down(api.ReasonInitializing, message)
	}
	p.out.Action = Action{Verb: verb, Init: init.Name}
	if verb == Stop {
		p.out.Action.Grace = p.Grace
	}
}

// clearInits stops and removes the first init container that must go, and reports whether there was one.
func (p *planner) clearInits(must func(*InitContainer) bool) bool {
	for i := range p.InitContainers {
		at := &p.InitContainers[i]
		if !must(at) {
			continue
		}
		p.down(api.ReasonInitializing, "init "+at.Name+" is being cleared away")
		p.clearInit(at)
		return true
	}
	return false
}

func (p *planner) clearInit(at *InitContainer) {
	switch {
	case at.live():
		p.out.Action = Action{Verb: Stop, Init: at.Name, Grace: p.Grace}
	case at.State == Removing:
		p.out.After = removingRecheck
	default:
		p.out.Action = Action{Verb: Remove, Init: at.Name}
	}
}

// foreign reports whether the container prepared another main container, or is no longer declared.
func (p *planner) foreign(at *InitContainer) bool {
	return p.Container == nil || at.For != p.Container.ID
}

// initRuns reports whether an init container runs.
func (p *planner) initRuns() bool {
	return slices.ContainsFunc(p.InitContainers, func(at InitContainer) bool { return at.live() })
}

// stopInits stops the first init container that runs, and reports whether there was one.
func (p *planner) stopInits() bool {
	for i := range p.InitContainers {
		if at := &p.InitContainers[i]; at.live() {
			p.out.Action = Action{Verb: Stop, Init: at.Name, Grace: p.Grace}
			return true
		}
	}
	return false
}

// freezeInits stops running init containers and removes those that did not pass; their attempts start over when the
// slot thaws. An unobserved exit code of 0 may be the effect of Tend's own stop, so for the next init it counts for
// nothing.
func (p *planner) freezeInits() {
	if p.Container == nil || p.Container.State != Created {
		return
	}
	progress := p.initProgress()
	cleared := p.clearInits(func(at *InitContainer) bool {
		return p.foreign(at) || !p.passedInit(at) || at.Cause == CauseUnknown && p.next(at, progress)
	})
	if !cleared && progress.Attempt > 0 {
		p.out.Status.Inits = &api.InitProgress{For: progress.For, Next: progress.Next}
	}
}

// tidyInits removes containers that have done their work once the main container runs, or the task has failed.
func (p *planner) tidyInits(done func(*InitContainer) bool) {
	for i := range p.InitContainers {
		if at := &p.InitContainers[i]; at.live() || done(at) {
			p.clearInit(at)
			return
		}
	}
}

func (p *planner) findInit(name string) *InitContainer {
	for i := range p.InitContainers {
		if p.InitContainers[i].Name == name {
			return &p.InitContainers[i]
		}
	}
	return nil
}

// passedInit reports whether a container belongs to a declared init and passed.
func (p *planner) passedInit(at *InitContainer) bool {
	for _, init := range p.Inits {
		if init.Name == at.Name {
			return init.passed(at)
		}
	}
	return false
}

// next reports whether a container belongs to the init whose turn it is.
func (p *planner) next(at *InitContainer, progress api.InitProgress) bool {
	return progress.Next < len(p.Inits) && p.Inits[progress.Next].Name == at.Name
}

// passed reports whether it exited with 0, in time. An exit code of 0 after the stop signal of a timeout isn't a
// success.
func (i Init) passed(at *InitContainer) bool {
	return at.State == Exited && at.ExitCode == 0 && !i.late(at) && at.Cause != CauseHand && at.Cause != CauseEngine
}

func (i Init) late(at *InitContainer) bool {
	return i.Timeout > 0 && at.FinishedAt.Sub(at.StartedAt) >= i.Timeout
}

// failure returns the reason why an attempt failed.
func (i Init) failure(at *InitContainer) string {
	switch {
	case i.late(at):
		return fmt.Sprintf("init %s was stopped: it took longer than %s (attempt %d of %d)", i.Name, i.Timeout,
			at.Attempt, i.Retries+1)
	case at.OOMKilled:
		return fmt.Sprintf("init %s ran out of memory and was killed (attempt %d of %d)", i.Name, at.Attempt, i.Retries+1)
	}
	if at.Cause == CauseHand && at.ExitCode == 0 {
		return fmt.Sprintf("init %s was stopped before its end (attempt %d of %d)", i.Name, at.Attempt, i.Retries+1)
	}
	return fmt.Sprintf("init %s exited with %d (attempt %d of %d)", i.Name, at.ExitCode, at.Attempt, i.Retries+1)
}
