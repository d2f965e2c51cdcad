package workload

import (
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/core/rollout"
)

// assessment is the result of one reconcile's planning: everything that its step commits.
type assessment struct {
	target target
	// known is false while no release can be determined and none is in force: there is nothing to plan for yet.
	known   bool
	desired rollout.Desired
	slots   []rollout.Slot
	plan    rollout.Plan
	// runs is the work on the commands of releases; gone are the releases to delete.
	runs runWork
	gone []string
}

// assess decides what a deployment needs. It reads nothing but its input.
func (c *workloads) assess(o observed, now time.Time) (assessment, error) {
	a := assessment{slots: o.slots()}
	if o.deleting() {
		a.desired, a.known = rollout.Desired{Deleting: true}, true
		if a.plan = rollout.Decide(a.desired, a.slots, now); a.plan.Phase == api.RolloutComplete {
			a.plan.Phase, a.plan.Message = api.RolloutProgressing, "the containers of its commands are being removed"
		}
		a.runs = o.sweep(a.runs, func(api.Task) bool { return true })
		return a, nil
	}
	o, a.runs = o.follow(now)
	id, err := c.identify(o)
	if err != nil {
		return a, err
	}
	if a.target, err = c.choose(o, id); err != nil {
		return a, err
	}
	if a.target.release != nil {
		a.known = true
		a.desired = o.desired(a.target)
		a.slots = o.asOf(a.target.release, a.slots, now)
		a.plan = rollout.Decide(a.desired, a.slots, now)
	}
	a.runs.start = o.next(a.target, a.plan.Phase)
	return o.collect(a), nil
}

// keepDead is the number of failed tasks that stay for inspection.
const keepDead = 3

func (o observed) desired(t target) rollout.Desired {
	need := o.needs(t)
	d := rollout.Desired{
		Replicas: o.replicas(t),
		Target:   rollout.Version{Release: t.release.ID, Restart: o.stamp(api.StampRestart)},
		Strategy: o.strategy(need),
		Pull:     o.stamp(api.StampPull),
		PulledAt: api.NonceTime(o.stamp(api.StampPull)),
		Frozen:   map[string]bool{},
		KeepDead: keepDead,

		WatchedSince: o.since,

		Superseded: t.superseded,
		Ordered:    o.ordered(),
	}
	d.Missing.Message, d.Missing.Next = need.Missing(o.set.Runtimes)
	if good := o.release(o.rollout().LastGoodRelease); good != nil {
		d.LastGood, d.GoodRestart = good.ID, o.rollout().GoodRestart
		if t.release.Repeats(*good) {
			d.LastGood = t.release.ID // nothing to return to: it is the same release, or differs in the environment alone
		}
	}
	for _, frozen := range o.frozen {
		d.Frozen[frozen.Value.Slot] = true
	}
	return d
}

// replicas returns the number of wanted slots of a target. While something newer waits for its image or its commands,
// the release in force doesn't grow: the new slots would be replaced at once. It may grow if that failed, but not from
// nothing: what was stopped on purpose isn't started for want of what should come instead, and others may have its
// ports.
func (o observed) replicas(t target) int {
	wanted, before := o.spec.ReplicaCount(), o.rollout().Replicas
	if before == 0 {
		before = o.runningTasks()
	}
	failed := t.awaits && o.image().State == api.ImageFailed || t.pending != nil && t.pending.gate.State == gate.Failed
	if waits := t.awaits || t.pending != nil; waits && (before == 0 || !failed) {
		return min(wanted, before)
	}
	return wanted
}

func (o observed) runningTasks() (running int) {
	for _, t := range o.tasks {
		if t.Desired.Value.Desired == api.DesiredRunning {
			running++
		}
	}
	return running
}

// needs returns what the pods of a target need of a runtime.
func (o observed) needs(t target) fit.Need {
	if t.isOfSpec() {
		return o.need(t.release.RequiredRuntime())
	}
	return fit.Release(*t.release).Within(o.spec.Placement)
}

// strategy resolves the spec's strategy. Plain processes share the ports of their node, so where pods may be such the
// old one stops first.
func (o observed) strategy(need fit.Need) api.ResolvedStrategy {
	resolved := o.spec.ResolvedStrategy()
	declared := o.spec.Strategy != nil && o.spec.Strategy.Order != ""
	if o.ordered() || !declared && o.set.MayBePlain(need, o.spec.Placement) {
		return o.spec.InOrder(resolved, api.OrderStopFirst)
	}
	return resolved
}

// endedByItself reports whether nobody had asked for the end of a task that has ended. A node that says that it was
// shut down would have its place filled without a wait, again and again.
func endedByItself(task api.Task) bool {
	return task.EndedAt.IsZero() || strings.HasPrefix(task.Reason, rollout.Ended)
}

// slots converts tasks to the planner's slots.
func (o observed) slots() []rollout.Slot {
	out := make([]rollout.Slot, 0, len(o.tasks))
	for _, t := range o.tasks {
		task := t.Desired.Value
		slot := rollout.Slot{
			ID: task.Slot, Task: task.ID, Replaces: task.Replaces,
			Version: rollout.Version{Release: task.Release, Restart: task.Restart}, Pull: task.Pull,
			Desired: task.Desired, Placed: task.Node != "", State: api.TaskPending,
			CreatedAt: task.CreatedAt, EndedAt: task.EndedAt,
		}
		slot.After = task.After
		slot.Lost, slot.Off, slot.Away = t.Absence.Lost, t.Off(), t.Away
		slot.Attempt, slot.NextAttempt, slot.Rebootstrap = task.Attempt, task.NextAttempt, o.rebootstraps(*task)
		slot.Failed = task.Failed
		if refusal, refused := o.refusals[task.ID]; refused {
			slot.Unplaceable, slot.Crowded, slot.Reason, slot.Message = true, refusal.Crowded, refusal.Reason(),
				refusal.Message
			slot.Next = refusal.Next
		}
		if s := t.Status; s != nil {
			slot.Observed, slot.State, slot.Ready, slot.CrashLoop = true, s.State, s.Ready, s.CrashLoop
			slot.Monitored, slot.Steady = task.Monitor != "", s.Steady
			if !s.Steady {
				slot.Apart, slot.LastEnd = healing.Apart(*s), healing.LastEnd(*s)
			}
			slot.Reason, slot.Message, slot.Next, slot.FailingSince = s.Reason, s.Message, s.Next, s.FailingSince
			slot.StartedAt, slot.RunningAt, slot.ReadyAt, slot.UnreadyAt = s.StartedAt, s.RunningAt, s.ReadyAt,
				s.UnreadyAt
			if s.State == api.TaskShutdown && endedByItself(*task) {
				slot.State = api.TaskFailed
			}
			if s.State.Terminal() && !s.FinishedAt.IsZero() {
				slot.EndedAt = s.FinishedAt
			}
		}
		slot.Misplaced, slot.Elsewhere, slot.Stays = o.misplacement(task)
		switch {
		case slot.Lost:
			slot.Elsewhere, slot.Reason, slot.Message, slot.Next = o.loss(t)
		case slot.Away && o.ordered():
			slot.Elsewhere, slot.Reason, slot.Message, slot.Next = o.away(t)
		}
		out = append(out, slot)
	}
	return out
}
