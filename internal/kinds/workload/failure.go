package workload

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
)

// readLogs are the reasons whose cause is found only in the container's output.
var readLogs = []string{
	"CrashLoop", "Exited", "SlotFailed", "DeadlineExceeded", "InitFailed", "StartupFailed", "LivenessFailed", "Unready",
}

// ownEnds are the reasons of a container that ends by itself.
var ownEnds = []string{api.ReasonCrashLoop, api.ReasonExited}

// failure returns what failed. An ordinal is named: people know it, and its name stays.
func (o observed) failure(plan rollout.Plan) string {
	if o.ordered() && plan.Slot != "" {
		return fmt.Sprintf("pod %s.%s: %s", o.ref.AppID(), plan.Slot, plan.Message)
	}
	return plan.Message
}

// nextStep returns the step that helps against the failure of a plan.
func (o observed) nextStep(plan rollout.Plan) string {
	switch {
	case plan.Next != "":
		return plan.Next
	case !slices.Contains(readLogs, plan.Reason):
		return ""
	case slices.Contains(ownEnds, plan.Reason) && strings.Contains(plan.Message, probe.Silent):
		return "let it print why it ends, or correct `command` or `env`"
	case plan.Slot != "" && !o.known(plan.Slot): // its container is gone
		return o.readOn(plan, fmt.Sprintf("tend logs %s/%s --previous", o.ref.Scope, o.ref.Name))
	case probe.Step(plan.Message) != "":
		return probe.Step(plan.Message)
	case strings.Contains(plan.Message, probe.Silent) && o.askAgain(plan) != "":
		return o.askAgain(plan)
	case o.endedWell(plan):
		return "declare it as a job, or keep the program in the foreground"
	case !o.started(plan.Slot): // it has no output
		return fmt.Sprintf("tend describe %s/%s", o.ref.Scope, o.ref.Name)
	case o.ordered() && plan.Slot != "":
		return o.readOn(plan, fmt.Sprintf("tend logs %s.%s", o.ref.AppID(), plan.Slot))
	}
	return o.readOn(plan, fmt.Sprintf("tend logs %s/%s", o.ref.Scope, o.ref.Name))
}

// readOn returns the step for a failure whose cause is in the container's output: logs, the command that shows it, is
// enough where the last lines aren't shown already.
func (o observed) readOn(plan rollout.Plan, logs string) string {
	if len(o.lastLog(plan.Slot)) == 0 {
		return logs
	}
	return nextstep.CorrectCause + nextstep.MoreOutput + logs
}

// askAgain returns the step that runs a pod's failing check by hand: its output is in no log. It leaves the arguments
// out, which may hold a password. It is empty if the pod doesn't run, or the manifest doesn't declare the check.
func (o observed) askAgain(plan rollout.Plan) string {
	declared := o.spec.Probes
	if declared == nil || !slices.ContainsFunc(o.tasks, func(t owner.Task) bool {
		return t.Desired.Value.Slot == plan.Slot && t.Status != nil && t.Status.State == api.TaskRunning
	}) {
		return ""
	}
	check := declared.Readiness
	if strings.Contains(plan.Message, string(probe.Startup)+": ") {
		check = declared.Startup
	}
	if check == nil || check.Exec == nil {
		return ""
	}
	step := fmt.Sprintf("tend exec %s.%s -- %s", o.ref.AppID(), plan.Slot, check.Exec.Command[0])
	if len(check.Exec.Command) > 1 {
		return "run the probe's command by hand: " + step + " …"
	}
	return step
}

// endedWell reports whether the container of the failed slot ended by itself with exit code 0, as no crash does.
func (o observed) endedWell(plan rollout.Plan) bool {
	return slices.Contains(ownEnds, plan.Reason) &&
		slices.ContainsFunc(o.tasks, func(t owner.Task) bool {
			return t.Desired.Value.Slot == plan.Slot && t.Status != nil && t.Status.ExitCode != nil && *t.Status.ExitCode == 0
		})
}

// known reports whether a task of a slot is left.
func (o observed) known(slot string) bool {
	return slices.ContainsFunc(o.tasks, func(t owner.Task) bool { return t.Desired.Value.Slot == slot })
}

// started reports whether a container of a slot has run, or one of its init containers; true if nothing is known of the
// slot.
func (o observed) started(slot string) bool {
	for _, t := range o.tasks {
		if s := t.Status; t.Desired.Value.Slot == slot && s != nil {
			return !s.RunningAt.IsZero() || s.Inits != nil || len(s.LastLog) > 0
		}
	}
	return true
}

// lastLog returns the last output lines of the container that filled a slot.
func (o observed) lastLog(slot string) []string {
	for _, t := range o.tasks {
		if t.Status != nil && len(t.Status.LastLog) > 0 && t.Desired.Value.Slot == slot &&
			t.Desired.Value.Role == api.RoleMain {
			return t.Status.LastLog
		}
	}
	for _, t := range o.tasks {
		if failed := t.Desired.Value.Failed; failed != nil && t.Desired.Value.Slot == slot {
			return failed.LastLog
		}
	}
	return nil
}
