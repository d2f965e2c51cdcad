package healing

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// initRetryRest is the time between the end of a failed attempt and the next one.
const initRetryRest = 2 * time.Second

// Init is what is declared of one init container.
type Init struct {
	Name string
	// Timeout is what one attempt may take; 0 is no limit.
	Timeout time.Duration
	// Retries is how often a failed attempt is repeated.
	Retries int
	// Image says whether the image it is made from is there.
	Image ImageState
}

// InitContainer is one container of a task that prepares its main one.
type InitContainer struct {
	Container
	// Name is that of the Init, For the id of the main container it prepares, Attempt which one it is, from 1.
	Name    string
	For     string
	Attempt int
	// Cause says what events told of its end.
	Cause Cause
}

// The reasons of init containers.
const (
	ReasonInitializing = "Initializing"
	ReasonInitRetry    = "InitRetry"
	ReasonInitFailed   = "InitFailed"
)

// Init containers run one after another between the making of the main container and its first start. How far they are
// is read off the containers themselves: one that passed stays until the main container runs, so a lost report repeats
// nothing. What is reported (api.InitProgress) stands for those that were removed by somebody else meanwhile. Both are
// bound to the main container's id: another main container begins anew, the engine's restarts of one don't.

// initialized takes the init containers one step further and says whether all of them have passed.
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

// initProgress is what was reported of this main container's inits.
func (p *planner) initProgress() api.InitProgress {
	if last := p.Status.Inits; last != nil && last.For == p.Container.ID {
		return *last
	}
	return api.InitProgress{For: p.Container.ID}
}

// runInit takes the init that is next one step further. At is its container, nil where there is none.
func (p *planner) runInit(init Init, at *InitContainer, progress *api.InitProgress) {
	if at == nil {
		p.makeInit(init, progress)
		return
	}
	if at.Attempt > progress.Attempt { // made, but not told of
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
		p.out.After = removingLook
	case Dead:
		p.initStep(Remove, init, "the engine could not remove its container completely")
	default:
		p.initEnded(init, at, progress)
	}
}

// makeInit makes the next attempt's container. One that vanished unseen is made again and doesn't count.
func (p *planner) makeInit(init Init, progress *api.InitProgress) {
	if rest := progress.RetryAt.Sub(p.now); rest > 0 {
		p.awaitRetry(init, progress, rest)
		return
	}
	if init.Image == ImageMissing {
		p.initStep(Pull, init, "its image is not on this node; it is being pulled")
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

// initEnded judges an attempt that did not pass.
func (p *planner) initEnded(init Init, at *InitContainer, progress *api.InitProgress) {
	switch {
	case at.Cause == CauseEngine:
		p.initStep(Remove, init, "it ended with the engine and runs again")
	case at.Attempt > init.Retries:
		p.endOf(&at.Container, api.TaskFailed, ReasonInitFailed, init.failure(at))
	default:
		progress.RetryAt = at.FinishedAt.Add(initRetryRest)
		if at.FinishedAt.IsZero() || at.FinishedAt.After(p.now) {
			progress.RetryAt = p.now.Add(initRetryRest)
		}
		if rest := progress.RetryAt.Sub(p.now); rest > 0 {
			p.awaitRetry(init, progress, rest)
			p.down(ReasonInitRetry, init.failure(at)+"; it is tried again")
			return
		}
		p.initStep(Remove, init, init.failure(at)+"; it is tried again")
	}
}

func (p *planner) awaitRetry(init Init, progress *api.InitProgress, rest time.Duration) {
	p.advance(api.TaskPreparing)
	p.down(ReasonInitRetry, fmt.Sprintf("init %s failed %d times; it is tried again", init.Name, progress.Attempt))
	p.out.After = rest
}

// initStep asks for one step with an init's container, or none, and says what goes on.
func (p *planner) initStep(verb Verb, init Init, why string) {
	p.advance(api.TaskPreparing)
	message := fmt.Sprintf("init %s (%d of %d) runs before the container", init.Name, p.out.Status.Inits.Next+1, len(p.Inits))
	if why != "" {
		message += "; " + why
	}
	p.down(ReasonInitializing, message)
	p.out.Action = Action{Verb: verb, Init: init.Name}
	if verb == Stop {
		p.out.Action.Grace = p.Grace
	}
}

// clearInits stops and removes the first init container that must go, and says whether there was one.
func (p *planner) clearInits(must func(*InitContainer) bool) bool {
	for i := range p.InitContainers {
		at := &p.InitContainers[i]
		if !must(at) {
			continue
		}
		p.down(ReasonInitializing, "init "+at.Name+" is being cleared away")
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
		p.out.After = removingLook
	default:
		p.out.Action = Action{Verb: Remove, Init: at.Name}
	}
}

// foreign: it prepared another main container, or is declared no more.
func (p *planner) foreign(at *InitContainer) bool {
	return p.Container == nil || at.For != p.Container.ID
}

// initRuns says whether an init container runs.
func (p *planner) initRuns() bool {
	return slices.ContainsFunc(p.InitContainers, func(at InitContainer) bool { return at.live() })
}

// stopInits stops the first init container that runs, and says whether there was one.
func (p *planner) stopInits() bool {
	for i := range p.InitContainers {
		if at := &p.InitContainers[i]; at.live() {
			p.out.Action = Action{Verb: Stop, Init: at.Name, Grace: p.Grace}
			return true
		}
	}
	return false
}

// freezeInits stops what runs and takes away what did not pass; its attempts begin anew when the slot thaws. An exit code
// of 0 that nobody saw come may be the answer to our own stop, so where it is the next one's it counts for nothing.
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

// tidyInits removes what has done its work once the main container runs, or the task has failed.
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

// passedInit says whether a container is one of a declared init that passed.
func (p *planner) passedInit(at *InitContainer) bool {
	for _, init := range p.Inits {
		if init.Name == at.Name {
			return init.passed(at)
		}
	}
	return false
}

// next says whether an init container is that of the init whose turn it is.
func (p *planner) next(at *InitContainer, progress api.InitProgress) bool {
	return progress.Next < len(p.Inits) && p.Inits[progress.Next].Name == at.Name
}

// passed: it ended with 0, in time. An exit code of 0 after the stop signal of a timeout is no success.
func (i Init) passed(at *InitContainer) bool {
	return at.State == Exited && at.ExitCode == 0 && !i.late(at) && at.Cause != CauseHand && at.Cause != CauseEngine
}

func (i Init) late(at *InitContainer) bool {
	return i.Timeout > 0 && at.FinishedAt.Sub(at.StartedAt) >= i.Timeout
}

// failure is why an attempt failed, for a person.
func (i Init) failure(at *InitContainer) string {
	switch {
	case i.late(at):
		return fmt.Sprintf("init %s was stopped: it took longer than %s (attempt %d of %d)", i.Name, i.Timeout, at.Attempt, i.Retries+1)
	case at.OOMKilled:
		return fmt.Sprintf("init %s ran out of memory and was killed (attempt %d of %d)", i.Name, at.Attempt, i.Retries+1)
	}
	if at.Cause == CauseHand && at.ExitCode == 0 {
		return fmt.Sprintf("init %s was stopped before its end (attempt %d of %d)", i.Name, at.Attempt, i.Retries+1)
	}
	return fmt.Sprintf("init %s exited with %d (attempt %d of %d)", i.Name, at.ExitCode, at.Attempt, i.Retries+1)
}
