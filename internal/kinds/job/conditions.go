package job

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/kinds/owner"
)

// The types of conditions that only jobs have.
const (
	// ConditionActive means that a run is active.
	ConditionActive = "Active"
	// ConditionMissed means that the newest due time started no run.
	ConditionMissed = "Missed"
	// ConditionClockBehind means that the clock has not reached the newest recorded due time.
	ConditionClockBehind = "ClockBehind"
)

func (o observed) conditions(a assessment, runs []api.Run) []api.Condition {
	ready, progressing := o.readiness(a, runs), o.progress(a)
	if progressing.Message == ready.Message {
		progressing.Message = "" // a cause is given once
	}
	out := []api.Condition{ready, progressing, o.trouble(a, runs), o.activity(a, runs)}
	if o.declared.cron != nil {
		out = append(out, missed(a), clockBehind(a))
	}
	return out
}

// readiness returns the Ready condition: whether a run that is requested now would start.
func (o observed) readiness(a assessment, runs []api.Run) api.Condition {
	c := api.Condition{Type: api.ConditionReady, Status: api.ConditionTrue}
	cron := o.declared.cron
	switch {
	case a.refused != nil:
		c.Status, c.Reason = api.ConditionFalse, a.refused.Reason
	case a.target.ID == "":
		c.Status, c.Reason, c.Message = api.ConditionFalse, control.ImageReason(o.image(), api.ReasonResolvingImage),
			o.imageProgress()
	case o.declared.job.RunOnRelease && hasRun(a, runs):
		c.Reason, c.Message = api.ReasonRunSucceeded, "it has run; again: tend run "+o.ref.Scope+"/"+o.ref.Name
	case o.declared.job.RunOnRelease:
		c.Reason, c.Message = api.ReasonDeclared, "runs each of its releases once, by itself; again: tend run "+o.ref.Scope+"/"+o.ref.Name
	case cron == nil:
		c.Reason, c.Message = api.ReasonDeclared, fmt.Sprintf("runs when asked to: tend run %s/%s", o.ref.Scope,
			o.ref.Name)
	case cron.Suspend:
		c.Reason, c.Message = api.ReasonSuspended, "suspended: due times begin no run"
	default:
		c.Reason = api.ReasonScheduled
		c.Message = "runs next at " + a.plan.NextRun.In(o.declared.schedule.Zone()).Format("2006-01-02 15:04 -07:00")
	}
	return c
}

// hasRun reports whether the newest release of a job has run, and succeeded.
func hasRun(a assessment, runs []api.Run) bool {
	last := lastEnded(runs)
	return !a.desired.Unrun && a.plan.Active == 0 && (last == nil || last.State != api.RunFailed)
}

func (o observed) progress(a assessment) api.Condition {
	c := api.Condition{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: api.ReasonComplete}
	switch {
	case a.refused != nil:
		c.Reason = a.refused.Reason
	case a.target.ID == "":
		c.Status, c.Reason, c.Message = api.ConditionTrue, control.ImageReason(o.image(), api.ReasonResolvingImage),
			o.imageProgress()
	case o.declared.job.RunOnRelease && a.plan.Active > 0:
		c.Status, c.Reason, c.Message = api.ConditionTrue, api.ReasonRunning, "it runs"
		if a.plan.Waiting != "" {
			c.Message = "waiting for " + a.plan.Waiting
		}
	case a.desired.Unrun && a.desired.Held != "":
		c.Status, c.Reason, c.Message = api.ConditionTrue, api.ReasonWaitingForDependency, "waiting for "+a.desired.Held
	}
	return c
}

func (o observed) imageProgress() string {
	name, _ := o.wanted()
	return owner.ImageProgress(o.image(), name, o.resolver, o.nodes)
}

// trouble returns the Degraded condition: the manifest can't be run, or the run that ended last failed
// or was stopped.
func (o observed) trouble(a assessment, runs []api.Run) api.Condition {
	c := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	last := lastEnded(runs)
	switch {
	case a.refused != nil:
		c.Status, c.Reason, c.Message, c.Next = api.ConditionTrue, a.refused.Reason, a.refused.Message, a.refused.Next
	case last != nil && last.State == api.RunFailed:
		c.Status, c.Reason = api.ConditionTrue, api.ReasonRunFailed
		if last.StoppedBy != "" {
			c.Reason = api.ReasonStopped
		}
		c.Message = strings.Join(append([]string{fmt.Sprintf("run %s failed: %s", last.ID, last.Message)},
			last.LastLog...), "\n")
		if c.Next = fmt.Sprintf("tend logs %s/%s --run %s", o.ref.Scope, o.ref.Name,
			last.ID); last.StartedAt.IsZero() { // it has no output
			c.Next = fmt.Sprintf("correct the cause and run it again: tend run %s/%s", o.ref.Scope, o.ref.Name)
		}
	}
	return c
}

func lastEnded(runs []api.Run) *api.Run {
	var last *api.Run
	for i := range runs {
		if run := &runs[i]; run.State.Ended() && (last == nil || run.FinishedAt.After(last.FinishedAt)) {
			last = run
		}
	}
	return last
}

func (o observed) activity(a assessment, runs []api.Run) api.Condition {
	c := api.Condition{Type: ConditionActive, Status: api.ConditionFalse, Reason: api.ReasonIdle}
	if a.plan.Active == 0 {
		return c
	}
	var names []string
	for _, run := range runs {
		if !run.State.Ended() {
			names = append(names, run.ID)
		}
	}
	c.Status, c.Reason, c.Message = api.ConditionTrue, api.ReasonRunning, strings.Join(names, ", ")
	switch {
	case a.unplaced.Message != "":
		c.Reason, c.Message, c.Next = api.ReasonWaiting, c.Message+": waiting for a node: "+a.unplaced.Message,
			a.unplaced.Next
	case a.desired.Held != "":
		c.Reason, c.Message = api.ReasonWaiting, c.Message+": waiting for "+a.desired.Held
	case a.plan.Waiting != "":
		c.Reason, c.Message = api.ReasonWaiting, c.Message+": waiting: "+a.plan.Waiting
	}
	return c
}

func missed(a assessment) api.Condition {
	line := a.plan.Timeline
	if line.LastMissed.IsZero() || line.LastMissed.Before(line.Last) {
		return api.Condition{Type: ConditionMissed, Status: api.ConditionFalse, Reason: api.ReasonOnTime}
	}
	return api.Condition{
		Type: ConditionMissed, Status: api.ConditionTrue, Reason: line.Why,
		Message: fmt.Sprintf("%s began no run; %d due times were missed since the schedule was last changed",
			line.LastMissed.UTC().Format(time.RFC3339), line.Missed),
	}
}

// clockBehind returns the condition that the clock was ahead when due times were handled, or has been set back since.
func clockBehind(a assessment) api.Condition {
	line := a.plan.Timeline
	if line.Ahead.IsZero() {
		return api.Condition{Type: ConditionClockBehind, Status: api.ConditionFalse, Reason: api.ReasonOnTime}
	}
	return api.Condition{
		Type: ConditionClockBehind, Status: api.ConditionTrue, Reason: api.ReasonClockSetBack,
		Message: fmt.Sprintf("the due time %s was dealt with already, and the server's clock has not reached it: "+
			"what has run up to then runs no second time. Check the clocks of the servers",
			line.Ahead.UTC().Format(time.RFC3339)),
	}
}
