package agent

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/reconciler"
)

// maxSteps bounds one reconcile: pull, create, start, and what a race adds. A task that needs more is requeued.
const maxSteps = 8

// maxWait is the longest time until the next reconcile; then wall time is read again.
const maxWait = time.Minute

// reconcileTask reconciles one task: observe, plan, act, until there is no action.
func (a *Agent) reconcileTask(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
	defer a.wakeSuccessors(key.Name)
	assigned, known := a.control.Task(key.Name)
	if !known {
		a.prober.Leave(key.Name)
		a.pulls.leave(taskListenerName(key.Name), "")
		a.lastLogs.request(api.Task{ID: key.Name}, healing.LogRequest{})
		a.doubts.end(key.Name)
		a.reports.dropTask(key.Name) // what still runs is shown as quarantined
		return reconciler.Result{}, nil
	}
	if trouble := a.watcher.trouble.Load(); trouble != nil {
		return reconciler.Result{}, a.unreachable(assigned, *trouble)
	}
	result, err := a.runSteps(ctx, assigned)
	if errors.Is(err, runtime.ErrUnavailable) {
		return result, errors.Join(err, a.unreachable(assigned, err.Error()))
	}
	return result, err
}

// isSlow reports whether the action of verb may run for more than a moment.
func isSlow(verb healing.Verb) bool {
	return verb == healing.None || verb == healing.Pull || verb == healing.Stop
}

// unreachable reports that the task's state is unknown. The watcher requeues all tasks when the engine is back.
func (a *Agent) unreachable(assigned node.Assignment, message string) error {
	if status := a.reports.task(assigned); status.State != "" {
		a.reports.reportTask(assigned, healing.Unreachable(status, message))
	}
	return nil
}

// runSteps plans and acts until the plan for the task is empty. It reports the first step, the last one, and any step
// that can take long; the others finish too quickly to be worth a write.
func (a *Agent) runSteps(ctx context.Context, assigned node.Assignment) (reconciler.Result, error) {
	in, err := a.observe(ctx, assigned)
	if err != nil {
		return reconciler.Result{}, err
	}
	if fault := a.taskEnds.take(assigned.Task.ID); fault != nil {
		return a.failed(ctx, assigned, in, fault)
	}
	overdue := false // whether the last report says that the last step took long
	for step := range maxSteps {
		decision := healing.Plan(in, a.now())
		if decision.Inspect {
			if in, err = a.inspectAgain(ctx, assigned, in); err != nil {
				return reconciler.Result{}, err
			}
			continue
		}
		a.probe(in, decision)
		if decision.Action.Verb != healing.Pull {
			a.pulls.leave(taskListenerName(assigned.Task.ID), "")
		}
		if decision.Forget && assigned.Task.Wipe {
			if err := a.wipe(ctx, assigned.Task); err != nil {
				if again, done := a.notWiped(assigned, in.Status, err); !done {
					return again, nil
				}
			}
		}
		if step == 0 || overdue || isSlow(decision.Action.Verb) {
			a.reportDecision(assigned, decision)
		}
		if decision.Action.Verb == healing.None {
			return reconciler.Result{After: min(decision.After, maxWait)}, nil
		}
		in.Status.State = decision.Status.State // it may be reported already, and no report returns to an earlier state
		done := a.sayOverdue(assigned, decision)
		waits, err := a.act(ctx, assigned.Task, in, decision.Action)
		overdue = done()
		if err != nil {
			return a.failed(ctx, assigned, in, err)
		}
		if waits {
			return reconciler.Result{Unfinished: true}, nil
		}
		if in, err = a.observe(ctx, assigned); err != nil {
			return reconciler.Result{}, err
		}
		in.Status = decision.Status
	}
	a.reports.reportTask(assigned, in.Status)
	return reconciler.Result{After: time.Second}, nil
}

// inspectAgain inspects the container again, and keeps the status decided so far.
func (a *Agent) inspectAgain(
	ctx context.Context, assigned node.Assignment, before healing.Input,
) (healing.Input, error) {
	a.containers.touch(before.Container.ID)
	in, err := a.observe(ctx, assigned)
	in.Status = before.Status
	return in, err
}

// reportDecision reports a decision, and starts the reading of the last lines it requests.
func (a *Agent) reportDecision(assigned node.Assignment, d healing.Decision) {
	a.lastLogs.request(assigned.Task, d.Log)
	if d.Forget {
		a.reports.forgetTask(assigned)
		return
	}
	if before := a.reports.task(assigned).State; before != d.Status.State && d.Status.State.Terminal() {
		a.log.Info("task ended", "task", assigned.Task.ID, "pod", assigned.Task.ContainerName(),
			"state", d.Status.State, "reason", d.Status.Reason, "message", d.Status.Message)
	}
	a.reports.reportTask(assigned, d.Status)
	a.containers.accounted(assigned.Task.ID)
}

// failed reports the result of an action, and retries it unless that is useless.
func (a *Agent) failed(
	ctx context.Context, assigned node.Assignment, in healing.Input, cause error,
) (reconciler.Result, error) {
	cause = a.withoutEnv(ctx, assigned.Task, cause)
	if errors.Is(cause, runtime.ErrUnavailable) || ctx.Err() != nil {
		return reconciler.Result{}, cause
	}
	fault := a.faultOf(cause)
	in.Fault = &fault
	decision := healing.Plan(in, a.now())
	a.reportDecision(assigned, decision)
	if decision.Status.State.Terminal() && assigned.Task.Desired == api.DesiredRunning {
		return reconciler.Result{}, nil
	}
	return reconciler.Result{}, cause
}

// faultOf returns the fault of an error, including whether a retry can help.
func (a *Agent) faultOf(err error) healing.Fault {
	var rejected *runtime.RejectedError
	switch {
	case errors.As(err, &rejected):
		return healing.Fault{Rejected: true, Reason: rejected.Reason, Message: rejected.Detail, Next: rejected.Next}
	case errors.Is(err, runtime.ErrNameTaken):
		return healing.Fault{Rejected: true, Reason: "NameTaken", Message: err.Error()}
	case errors.Is(err, node.ErrNoRelease):
		return healing.Fault{Rejected: true, Reason: "ReleaseGone", Message: err.Error()}
	}
	if transient, ok := errors.AsType[*runtime.TransientError](err); ok {
		return healing.Fault{Reason: transient.Reason, Message: transient.Detail, Next: transient.Next}
	}
	return healing.Fault{Reason: "EngineError", Message: err.Error(),
		Next: "correct what the message names, in the manifest or on node " + a.opts.Node + "; Tend retries"}
}
