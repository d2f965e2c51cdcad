package lab

import (
	"cmp"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
	"tend.dev/tend/internal/core/once"
)

// Recheck is the interval after which a lab whose container doesn't exist yet is observed again, in case no event
// comes.
const Recheck = 30 * time.Second

// lastBackoff is the longest pause before the next container of a lab.
const lastBackoff = 30 * time.Second

// Decide returns the next step of a lab.
func Decide(desired Desired, observed Observed, now time.Time) Plan {
	p := &planner{Desired: desired, now: now, tasks: observed.Tasks, tried: observed.Tried}
	p.out = Plan{
		Phase: observed.Phase, StartedAt: observed.StartedAt, Failures: observed.Failures, RetryAt: observed.RetryAt,
	}
	if len(p.tasks) > 0 {
		newest := slices.MaxFunc(p.tasks, newer)
		p.out.Current = &newest
	}
	if !desired.Deleting {
		p.step()
	}
	p.sweep()
	return p.out
}

// newer orders tasks: a wanted task comes after all unwanted ones.
func newer(a, b Task) int {
	rank := map[bool]int{true: 1}
	return cmp.Or(rank[a.wanted()]-rank[b.wanted()], a.Number-b.Number, cmp.Compare(a.ID, b.ID))
}

// planner holds the state of one decision.
type planner struct {
	Desired
	now   time.Time
	tasks []Task
	tried string
	out   Plan
}

func (p *planner) step() {
	switch p.out.Phase {
	case "":
		p.move(api.LabPending, "", "")
		if len(p.tasks) == 0 {
			p.pending()
		}
	case api.LabPending:
		p.pending()
	case api.LabProvisioning:
		p.provisioning()
	case api.LabRunning:
		p.running()
	case api.LabCompleted, api.LabFailed, api.LabTimeout: // nothing follows
	}
}

// move makes the one move of a step and asks for another step at once: what was observed may allow the next move.
func (p *planner) move(to api.LabPhase, reason, message string) {
	p.out.Phase, p.out.Reason, p.out.Message = to, reason, message
	if !to.Ended() {
		p.out.After = time.Millisecond
	}
}

// wait records what the lab waits for, and when to decide again.
func (p *planner) wait(why Wait, reason, message string, after time.Duration) {
	p.out.Waits, p.out.Reason, p.out.Message, p.out.After = why, reason, message, after
}

func (p *planner) do(a Action) { p.out.Actions = append(p.out.Actions, a) }

// pending waits for the start, then for a node to run the container.
func (p *planner) pending() {
	due := !p.now.Before(p.Start)
	switch t := p.out.Current; {
	case t != nil && t.wanted() && t.Placed:
		p.move(api.LabProvisioning, api.ReasonProvisioning, "")
	case t != nil && t.wanted() && (!due || p.Release != "" && t.Release != p.Release):
		p.do(Action{Verb: RemoveTask, Task: t.ID, Reason: api.ReasonReplaced})
		p.wait(ForStart, api.ReasonScheduled, "", time.Millisecond)
	case t != nil && t.wanted():
		p.wait(ForNode, api.ReasonWaiting, "", 0)
	case !due:
		p.wait(ForStart, api.ReasonScheduled, "", p.Start.Sub(p.now))
	case !p.Redeclared && p.unknown(p.Start):
		p.wait(ForPerson, api.ReasonRestored, "restored from a backup: it may have run since", 0)
	default:
		p.make()
	}
}

// unknown reports whether at had come when a restored store was resumed. Nobody knows then what the lab has done since
// the backup.
func (p *planner) unknown(at time.Time) bool { return !p.Over.IsZero() && !at.After(p.Over) }

// make requests the next container once no earlier one can still run.
func (p *planner) make() {
	switch {
	case slices.ContainsFunc(p.tasks, func(t Task) bool { return !t.Ended() }):
		p.wait(ForRetry, api.ReasonWaiting, "waiting for the end of its last container", Recheck)
	case p.Release == "":
		p.wait(ForRelease, api.ReasonWaiting, "", 0)
	case p.Held != "":
		p.wait(ForNeed, api.ReasonWaitingForDependency, "waiting for "+p.Held, 0)
	default:
		p.do(Action{Verb: StartTask, Release: p.Release, Number: p.out.Failures + 1})
		p.wait(ForNode, api.ReasonWaiting, "", 0)
	}
}

// provisioning waits until the container runs. A container that can't be started is replaced.
func (p *planner) provisioning() {
	t := p.out.Current
	p.out.Reason = api.ReasonProvisioning
	switch {
	case t != nil && t.wanted() && t.Lost && !t.Terminal():
		p.move(api.LabFailed, api.ReasonNodeLost, "its node is down")
	case t != nil && t.wanted() && t.ran():
		p.out.StartedAt = clamp(t.Status.RunningAt, t.CreatedAt, p.now)
		p.out.EndsAt = p.out.StartedAt.Add(p.Duration)
		p.move(api.LabRunning, api.ReasonRunning, "")
	case p.StoppedBy != "":
		p.move(api.LabFailed, api.ReasonStopped, "stopped by "+p.StoppedBy+" before it ran")
	case t != nil && p.unknown(t.CreatedAt), t == nil && !p.Redeclared && p.unknown(p.out.RetryAt):
		p.move(api.LabFailed, api.ReasonRestored, "restored from a backup: it may have run since")
	case t != nil && t.wanted() && t.Terminal() && t.Status.Reason == api.ReasonNodeDown:
		p.move(api.LabFailed, api.ReasonNodeDown, "its node is off, and it may have run there")
	case t != nil && t.wanted() && t.Terminal() && t.Status.Reason == api.ReasonContainerRemoved:
		p.move(api.LabFailed, api.ReasonContainerRemoved, "its container was removed, and may have run")
	case t != nil && t.wanted() && t.Terminal():
		p.failed(t)
	case t != nil && t.wanted() && !t.Placed:
		p.wait(ForNode, api.ReasonWaiting, "", Recheck)
	case t != nil && t.wanted():
		p.out.After = Recheck
	case p.now.Before(p.Start): // the clock was ahead at the start and has been set back
		p.wait(ForStart, api.ReasonScheduled, "", p.Start.Sub(p.now))
	case p.Release != "" && p.Release != p.tried: // the new release may correct the fault
		p.out.Failures, p.out.RetryAt = 0, time.Time{}
		p.make()
	case deadline.Left(p.out.RetryAt, p.now, lastBackoff) > 0 && p.Release != "":
		p.wait(ForRetry, api.ReasonProvisioningFailed, "", p.out.RetryAt.Sub(p.now))
	default:
		p.make()
	}
}

// failed counts a container that couldn't be started, and schedules the next one.
func (p *planner) failed(t *Task) {
	backoff := min(time.Second<<min(p.out.Failures, 10), lastBackoff)
	p.out.Failures++
	p.out.RetryAt = p.now.Add(backoff)
	p.do(Action{Verb: RemoveTask, Task: t.ID, Reason: api.ReasonProvisioningFailed})
	p.wait(ForRetry, api.ReasonProvisioningFailed, t.Status.Message, backoff)
}

// running ends the lab if its container ended, a person stopped it or its time is over, in this order.
func (p *planner) running() {
	p.out.EndsAt = p.out.StartedAt.Add(p.Duration)
	p.out.Reason = api.ReasonRunning
	switch t := p.out.Current; {
	case t == nil:
		p.move(api.LabFailed, api.ReasonLost, "the record of its container is gone")
	case t.Ended():
		p.judge(t.Outcome())
	case p.StoppedBy != "":
		p.move(api.LabCompleted, api.ReasonStopped, "stopped by "+p.StoppedBy)
	case !p.now.Before(p.out.EndsAt):
		p.move(api.LabTimeout, api.ReasonTimedOut, "its time is over")
	default:
		p.out.After = p.out.EndsAt.Sub(p.now)
	}
}

func (p *planner) judge(end once.Outcome) {
	switch {
	case end.OK:
		p.move(api.LabCompleted, api.ReasonCompleted, "its container ended with exit code 0")
	case end.Stopped:
		p.move(api.LabCompleted, end.Reason, end.Message)
	default:
		p.move(api.LabFailed, end.Reason, end.Message)
	}
}

// sweep removes every task except the container of a lab that goes on.
func (p *planner) sweep() {
	over := p.Deleting || p.out.Phase.Ended()
	for _, t := range p.tasks {
		wanted := !over && p.out.Current.ID == t.ID && t.wanted()
		if slices.ContainsFunc(p.out.Actions, func(a Action) bool { return a.Task == t.ID }) {
			continue
		}
		switch t.Removal(wanted) {
		case once.Nothing:
		case once.Stop:
			p.do(Action{Verb: StopTask, Task: t.ID, Reason: p.why()})
		case once.Remove:
			p.do(Action{Verb: RemoveTask, Task: t.ID, Reason: p.why()})
		case once.Forget:
			p.do(Action{Verb: ForgetTask, Task: t.ID})
		}
	}
}

// why returns the reason for which a container is no longer wanted.
func (p *planner) why() string {
	switch {
	case p.Deleting:
		return api.ReasonDeleted
	case p.out.Phase == api.LabTimeout:
		return api.ReasonTimedOut
	case p.out.Phase.Ended():
		return api.ReasonCleaningUp
	}
	return api.ReasonReplaced
}

// clamp limits at to the range from low to high: a node's clock may differ from the server's.
func clamp(at, low, high time.Time) time.Time {
	if at.Before(low) {
		at = low
	}
	if at.After(high) {
		at = high
	}
	return at.UTC()
}
