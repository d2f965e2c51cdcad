package healing

import (
	"time"

	"tend.dev/tend/api"
)

const (
	// removingRecheck is the delay before a container that is being removed is inspected again, in case its event is
	// missed.
	removingRecheck = time.Second
	// recordedRecheck is the delay before a container that still has to be recorded is inspected again, in case the
	// wake-up is missed.
	recordedRecheck = time.Second
	// occupiedRecheck is the delay before a task that waits for the previous container checks again, in case the
	// wake-up is missed.
	occupiedRecheck = time.Second
)

// planner holds one decision while it is made.
type planner struct {
	Input
	now time.Time
	out Decision
	// heldLoop is set while a crash loop is not reported yet, because its last lines are missing.
	heldLoop bool
}

// Plan returns the next step of a task. It returns one action at a time: carry it out, observe again, plan again.
func Plan(in Input, now time.Time) Decision {
	p := &planner{Input: in, now: now}
	p.out.Status = in.Status
	p.out.Status.ID, p.out.Status.Node = in.Task.ID, in.Task.Node
	switch {
	case in.Task.Desired == api.DesiredRemoved:
		p.remove()
	case in.Status.State.Terminal():
		p.stayEnded()
	case in.Task.Desired == api.DesiredShutdown:
		p.shutDown()
	default:
		p.run()
	}
	return p.out
}

// remove stops and removes the container; then the observed half is deleted.
func (p *planner) remove() {
	if p.Container == nil && len(p.InitContainers) == 0 {
		p.out.Forget = true
		return
	}
	if !p.Status.State.Terminal() { // an end keeps its reason
		if p.Container.live() {
			p.observe() // it may have started since the last report
		}
		p.down(api.ReasonStopping, "")
	}
	switch {
	case p.Fault != nil:
		p.down(p.Fault.Reason, p.Fault.Message)
	case p.Container.live():
		p.stop()
	case len(p.InitContainers) > 0:
		p.clearInit(&p.InitContainers[0])
	case p.Container.State == Removing:
		p.out.After = removingRecheck
	default:
		p.out.Action.Verb = Remove
	}
}

// stayEnded keeps an ended task at its end, even if the container is started by hand.
func (p *planner) stayEnded() {
	switch {
	case p.Fault != nil:
	case p.Container.live():
		p.stop()
	default:
		p.lateLog()
		p.tidyInits(p.passedInit)
	}
}

// shutDown stops the container and keeps it for inspection.
func (p *planner) shutDown() {
	p.observe()
	switch {
	case p.Container.live() && p.Fault != nil:
		p.down(p.Fault.Reason, p.Fault.Message)
	case p.Container.live():
		p.stop()
		p.down(api.ReasonStopping, "")
	case p.Fault != nil && p.initRuns():
		p.down(p.Fault.Reason, p.Fault.Message)
	case p.stopInits():
		p.down(api.ReasonStopping, "")
	default:
		p.end(api.TaskShutdown, api.ReasonShutdown, p.Task.Reason)
	}
}

// run brings the container up, or ends the task.
func (p *planner) run() {
	p.observe()
	crashing := p.Task.Class != api.ClassOnce && p.countCrashes()
	p.reportLoop()
	switch {
	case p.Fault != nil:
		p.failedAction()
	case crashing:
		p.giveUp()
	case p.givenUpByProbes():
		p.giveUpLifeless()
	case p.Frozen:
		p.freeze()
	default:
		p.stepToRunning()
	}
}

// stepToRunning takes the next step towards a running container.
func (p *planner) stepToRunning() {
	if p.Container == nil {
		p.absent()
		return
	}
	switch p.Container.State {
	case Created:
		p.start(api.ReasonStarting, "")
	case Running:
		p.up()
		p.rejoin()
		p.tidyInits(func(*InitContainer) bool { return true })
	case Paused:
		p.advance(api.TaskRunning)
		p.down(api.ReasonPaused, "the container was paused by hand; `docker unpause` on "+p.node()+" lets it go on")
	case Restarting:
		p.advance(api.TaskRunning)
		if p.out.Status.CrashLoop {
			p.looping() // the same words as while it is up for a moment
			return
		}
		p.down(p.exitReason(api.ReasonRestarting), p.exitMessage()+"; the engine is starting it again")
	case Removing:
		p.down(api.ReasonContainerRemoved, "the container is being removed; it will be made again")
		p.out.After = removingRecheck
	case Dead:
		p.down(api.ReasonContainerRemoved, "the engine could not remove the container completely")
		p.out.Action.Verb = Remove
	default:
		p.ended()
	}
}

// rejoin puts a container back on its network after it was taken off: without it, it can neither reach nor be reached.
func (p *planner) rejoin() {
	if p.Container.Detached && p.out.Action.Verb == None {
		p.out.Action.Verb = Rejoin
		p.unready(api.ReasonNetworkDetached, "the container was taken off its network by hand; it is joined again")
	}
}

// absent handles a task without a container.
func (p *planner) absent() {
	switch {
	case p.Task.Class == api.ClassOnce && p.Status.Container != "":
		p.end(api.TaskFailed, api.ReasonContainerRemoved, "the container was removed before its end was seen")
	case p.PluginAtWork && p.Status.Container != "":
		p.down(api.ReasonPluginAtWork,
			"the pod was removed while a plugin's command works on it; it is made again when the command ends")
	case p.Occupied:
		p.prepare(None, api.ReasonWaitingForPredecessor, "waits until its former container on "+p.node()+" is gone")
		p.out.After = occupiedRecheck
	case p.Image == ImageMissing:
		p.prepare(Pull, api.ReasonPullingImage, p.node()+" pulls the image, which it doesn't have")
	case p.Status.Container != "":
		p.prepare(Create, api.ReasonContainerRemoved, "the container was removed; it is made again")
	default:
		p.prepare(Create, api.ReasonCreating, "")
	}
}

// ended handles a container that stopped and that the engine left so.
func (p *planner) ended() {
	switch {
	case p.Task.Class == api.ClassKeep && p.restartDecided():
		reason, message := p.lifelessWords()
		p.start(reason, message+"; it is being restarted")
	case p.Task.Class == api.ClassOnce || p.endedByItself():
		p.endByExitCode()
	case p.Cause == CauseEngine:
		p.start(api.ReasonStopped, "the container ended with the engine; it is started again")
	case p.PluginAtWork:
		p.down(api.ReasonPluginAtWork,
			"the pod was stopped while a plugin's command works on it; it is started again when the command ends")
	default:
		p.start(api.ReasonStopped, "the container was stopped by hand; it is started again")
	}
}

// freeze leaves the slot stopped until it is started again.
func (p *planner) freeze() {
	if p.Container.live() {
		p.stop()
	} else {
		p.freezeInits()
	}
	p.down(api.ReasonFrozen, "the pod was stopped on purpose; `tend start` lets it run again")
}

// giveUp stops the engine's restarts; the task fails once they have stopped.
func (p *planner) giveUp() {
	if p.Container.live() {
		p.stop()
		p.looping()
		return
	}
	reason, message, next := p.explainLoop()
	p.end(api.TaskFailed, reason, message)
	p.out.Status.Next = next
}

// failedAction reports the result of the last step: an end, or a reason while it is retried.
func (p *planner) failedAction() {
	if p.Fault.Rejected {
		p.end(api.TaskRejected, p.Fault.Reason, p.Fault.Message)
		p.out.Status.Next = p.Fault.Next
		return
	}
	if p.Status.State != api.TaskRunning {
		p.advance(api.TaskPreparing)
	}
	since := p.Status.FailingSince
	if since.IsZero() {
		since = p.now
	}
	p.down(p.Fault.Reason, p.Fault.Message)
	p.out.Status.Next, p.out.Status.FailingSince = p.Fault.Next, since
}
