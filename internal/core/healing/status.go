package healing

import (
	"cmp"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

// observe copies the observed state of the container into the status.
func (p *planner) observe() {
	c, next := p.Container, &p.out.Status
	next.State = cmp.Or(next.State, api.TaskAccepted)
	p.advance(api.TaskAccepted)
	if c == nil {
		return
	}
	p.count()
	next.Container, next.ImageID, next.CreatedAt = c.ID, c.ImageID, c.CreatedAt
	next.Address, next.Ports, next.PID = c.Address, c.Ports, c.PID
	if c.StartedAt.IsZero() {
		return
	}
	next.StartedAt = c.StartedAt
	p.carryProbes()
	if next.RunningAt.IsZero() {
		next.RunningAt = c.StartedAt
	}
	ours := givesUp(p.Status.Exits) || p.restartDecided() // what follows giving up is Tend's own stop
	if (c.State == Exited || c.State == Restarting) && !ours {
		p.exited(Exit{Code: c.ExitCode, OOM: c.OOMKilled})
	}
}

func (p *planner) exited(exit Exit) {
	if old := p.out.Status.ExitCode; old == nil || *old != exit.Code {
		p.out.Status.ExitCode = &exit.Code
	}
	p.out.Status.OOMKilled = exit.OOM
}

// advance moves the state forward, and never back.
func (p *planner) advance(state api.TaskState) {
	if p.out.Status.State.CanBecome(state) {
		p.out.Status.State = state
	}
}

// ready reports that the container runs and serves.
func (p *planner) ready() {
	next := &p.out.Status
	if !next.Ready || !p.incarnation() {
		next.ReadyAt = p.now
	}
	next.Steady = next.Steady && p.incarnation()
	next.UnreadyAt, next.FailingSince = time.Time{}, time.Time{}
	next.Ready, next.Reason, next.Message, next.Next = true, "", "", ""
	if p.Beside != nil {
		next.Reason, next.Message, next.Next = p.Beside.Reason, p.Beside.Message, p.Beside.Next
	}
	if next.CrashLoop {
		next.Reason, next.Message, next.Next = p.explainLoop()
	} else {
		next.LastLog = nil
	}
	p.watchSteady()
}

// down reports that the task isn't ready, for a reason.
func (p *planner) down(reason, message string) {
	p.notReady()
	next := &p.out.Status
	next.Reason, next.Message, next.Next = reason, message, p.nextStep(reason)
	next.FailingSince = time.Time{}
}

func (p *planner) notReady() {
	next := &p.out.Status
	if !next.ReadyAt.IsZero() && next.UnreadyAt.IsZero() {
		next.UnreadyAt = p.now
	}
	next.Ready, next.Steady = false, false
}

// trying is down for a step that is about to be taken. If the last try failed, its error stays until one succeeds or
// fails for another reason: that a step is being tried again says nothing of what keeps the task from running.
func (p *planner) trying(reason, message string) {
	if p.Status.FailingSince.IsZero() {
		p.down(reason, message)
		return
	}
	p.notReady()
}

func (p *planner) stop() {
	p.out.Action = Action{Verb: Stop, Grace: p.Grace}
}

// start begins an incarnation, unless the predecessor may still run.
func (p *planner) start(reason, message string) {
	if p.Held {
		p.advance(api.TaskPreparing)
		p.down(api.ReasonWaitingForPredecessor, "starts when an older pod has stopped")
		return
	}
	if p.unrecorded() || p.Container.State == Created && !p.initialized() {
		return
	}
	if p.unstartable() {
		p.trying(reason, "the engine failed to start the container again twice; it is made again")
		p.out.Action.Verb = Remove
		return
	}
	p.advance(api.TaskStarting)
	p.trying(reason, message)
	p.out.Action.Verb = Start
}

// startsFor is the time for which the engine may fail to start a container that ran before: while it starts itself it
// refuses much.
const startsFor = 5 * time.Second

// unstartable reports whether a container that ran before is given up, because the engine can't start it: after a
// restart some keep a remnant of it in the way, which a new container doesn't meet. What runs once has one container.
func (p *planner) unstartable() bool {
	return p.FailedStarts >= 2 && p.now.Sub(p.FailedSince) >= startsFor && p.Task.Class != api.ClassOnce &&
		!p.Container.StartedAt.IsZero()
}

// unrecorded reports whether the container must not start yet. A command that runs once waits until the store names its
// container. Otherwise, if the answer to the start were lost and the container removed, no record of the start would
// exist, and the command would run again. If the store names another container, this one was made by an agent that
// didn't know yet of the first, which may have run.
func (p *planner) unrecorded() bool {
	switch {
	case p.Task.Class != api.ClassOnce || p.Recorded == p.Container.ID:
		return false
	case p.Recorded != "":
		p.end(api.TaskFailed, api.ReasonContainerRemoved, "its first container was removed before its end was seen")
	default:
		p.prepare(None, api.ReasonCreating, "starts when the store has its container's id")
		p.out.After = recordedRecheck
	}
	return true
}

// prepare plans a step towards a running container.
func (p *planner) prepare(verb Verb, reason, message string) {
	p.advance(api.TaskPreparing)
	if verb == None {
		p.down(reason, message)
	} else {
		p.trying(reason, message)
	}
	p.out.Action.Verb = verb
}

// end sets the task's last state.
func (p *planner) end(state api.TaskState, reason, message string) {
	p.endOf(p.Container, state, reason, message)
}

// endOf is end, if another container is to blame. The failure is reported together with that container's last lines. If
// they take too long, it is reported without them, and they follow.
func (p *planner) endOf(from *Container, state api.TaskState, reason, message string) {
	p.out.Action = Action{}
	if state == api.TaskFailed && from != nil {
		request := LogRequest{Container: from.ID, End: EndOfTask}
		lines, pending := p.read(request)
		p.out.Log = LogRequest{} // the loop's, where it had one
		p.request(request, lines)
		if pending {
			p.down(reason, message)
			return
		}
	}
	p.advance(state)
	p.down(reason, message)
	p.out.Status.FinishedAt = p.now
	if c := p.Container; c != nil && c.State == Exited && c.FinishedAt.After(c.StartedAt) {
		p.out.Status.FinishedAt = c.FinishedAt
	}
}

func (p *planner) endByExitCode() {
	state := api.TaskComplete
	if p.Container.ExitCode != 0 {
		state = api.TaskFailed
	}
	p.end(state, p.exitReason(api.ReasonExited), p.endMessage())
}

// endMessage returns how the container ended, and the restart policy by which a program that should go on stays so.
func (p *planner) endMessage() string {
	message, policy := p.exitMessage(), p.Container.Restart
	if p.Task.Class == api.ClassOnce || policy == "" {
		return message
	}
	return fmt.Sprintf("%s, and `restart` is %q", message, policy)
}

func (p *planner) exitReason(otherwise string) string {
	if p.out.Status.OOMKilled {
		return api.ReasonOOMKilled
	}
	return otherwise
}

// killedCode is the exit code of a process that was killed by signal 9 (128 + 9), as the kernel does when memory runs
// out.
const killedCode = 137

func (p *planner) exitMessage() string {
	switch {
	case p.out.Status.OOMKilled:
		return p.killedMessage()
	case p.out.Status.ExitCode == nil:
		return p.subject() + " ended"
	}
	return p.subject() + " ended with " + p.exitWords()
}

// subject returns the word for the thing that ended: a run has a container, a pod that should go on has a program.
func (p *planner) subject() string {
	if p.Task.Class == api.ClassOnce {
		return "the container"
	}
	return "the program"
}

// exitWords names the exit code, which is known, and says of a failure that there is no log to look at.
func (p *planner) exitWords() string {
	code := *p.out.Status.ExitCode
	if code == killedCode && p.Cause == CauseExit {
		return "exit code 137: something killed it, and the engine reported no lack of memory, which it can miss in a " +
			"container's first moments"
	}
	if code != 0 && p.silent() {
		return fmt.Sprintf("exit code %d %s", code, probe.Silent)
	}
	return fmt.Sprintf("exit code %d", code)
}
