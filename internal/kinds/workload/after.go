package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/gate"
)

// after returns the condition of the commands that follow the rollout of the release in force. ok is false if it has
// none.
func (o observed) after(a assessment) (c api.Condition, ok bool) {
	release := a.target.release
	if !a.known || release == nil || release.Steps == nil || len(release.Steps.After) == 0 {
		return c, false
	}
	c = api.Condition{Type: api.ConditionAfterRollout, Status: api.ConditionUnknown,
		Reason: api.ReasonWaitingForRollout}
	var fields, failed []string
	for _, command := range o.commands(release, release.Steps.After) {
		field, run := gate.Field(command.Role), command.Run
		fields = append(fields, field)
		switch {
		case run == nil && (a.plan.Phase != api.RolloutComplete || a.target.pending != nil || a.target.turned != nil ||
			a.target.awaits):
			c.Message = fmt.Sprintf("%s of %s runs once the rollout is complete", field, release.ID)
			return c, true
		case run == nil:
			c.Reason, c.Message = api.ReasonRunningPostCommand, fmt.Sprintf("%s of %s begins", field, release.ID)
			return c, true
		case !run.State.Ended():
			c.Reason, c.Message = api.ReasonRunningPostCommand,
				fmt.Sprintf("%s of %s runs in %s", field, release.ID, podOf(*run))
			return c, true
		case run.State != api.RunSucceeded:
			failed = append(failed, withLog(fmt.Sprintf(
				"%s of %s failed: %s; %s serves all the same. `tend logs %s` shows its output; it runs again with the next release",
				field, release.ID, run.Message, release.ID, podOf(*run)), run.LastLog))
		}
	}
	if len(failed) > 0 {
		c.Status, c.Reason, c.Message = api.ConditionFalse, api.ReasonPostCommandFailed, strings.Join(failed, "\n")
		return c, true
	}
	c.Status, c.Reason, c.Message = api.ConditionTrue, api.ReasonPostCommandsPassed,
		strings.Join(fields, " and ")+" of "+release.ID+" succeeded"
	return c, true
}

// withAfter sets the condition, or removes it if the release in force has no such commands.
func (o observed) withAfter(conditions []api.Condition, a assessment, now time.Time) []api.Condition {
	if c, ok := o.after(a); ok {
		return api.SetCondition(conditions, c, now)
	}
	return slices.DeleteFunc(slices.Clone(conditions), func(
		c api.Condition) bool {
		return c.Type == api.ConditionAfterRollout
	})
}

// podOf returns the name of the container of a run's last attempt.
func podOf(run api.Run) string {
	if len(run.Attempts) == 0 {
		return run.ID
	}
	return run.Attempts[len(run.Attempts)-1].Pod
}
