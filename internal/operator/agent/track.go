package agent

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/platform/delay"
)

// The intervals of tracking: how often resources are observed without a notice, and how often a status is sent at
// least.
const (
	trackEvery  = 5 * time.Second
	statusEvery = time.Minute
)

// tracked is a finished job whose result is not sent yet.
type tracked struct {
	job     pull.Job
	task    task
	applied api.ClusterResource
	since   time.Time
	// said is the time of the last status, and message its message.
	said    time.Time
	message string
}

func (a *Agent) track(job pull.Job, task task, applied api.ClusterResource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tracked = append(a.tracked, &tracked{job: job, task: task, applied: applied, since: a.Now()})
	a.wake()
}

func (a *Agent) isTracked(job string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.tracked, func(t *tracked) bool { return t.job.ID == job })
}

// Moved says that a resource may have changed: all tracked ones are observed at once.
func (a *Agent) Moved() { a.wake() }

func (a *Agent) wake() {
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// trackReady observes what jobs applied, and sends their status and results, until ctx ends.
func (a *Agent) trackReady(ctx context.Context) error {
	ticker := time.NewTicker(trackEvery)
	defer ticker.Stop()
	again := newBackoff(a.Jitter)
	for {
		select {
		case <-ticker.C:
		case <-a.moved:
		case <-ctx.Done():
			return nil
		}
		err := a.observeAll(ctx)
		switch {
		case err == nil:
			again.reset()
		case isEnd(err):
			return err
		case ctx.Err() == nil:
			_ = delay.For(ctx, again.after(err))
		}
	}
}

func (a *Agent) observeAll(ctx context.Context) error {
	a.mu.Lock()
	all := slices.Clone(a.tracked)
	a.mu.Unlock()
	for _, t := range all {
		over, err := a.observe(ctx, t)
		if err != nil {
			return err
		}
		if over {
			a.mu.Lock()
			a.tracked = slices.DeleteFunc(a.tracked, func(other *tracked) bool { return other == t })
			a.mu.Unlock()
		}
	}
	return nil
}

// observe sends a job's result if it is known, or if an instance did not become ready in time. Otherwise it sends the
// status if one is due.
func (a *Agent) observe(ctx context.Context, t *tracked) (over bool, err error) {
	now := a.Now()
	late := now.Sub(t.since) >= a.ReadyTime
	seen, err := a.Applier.Observe(ctx, t.task.ref)
	if err != nil {
		a.Logger.WarnContext(ctx, "a resource can't be observed", "resource", t.task.ref.Kind+"/"+t.task.ref.Namespace+"/"+t.task.ref.Name, "error", err)
		if !late {
			return false, nil
		}
	}
	if t.task.delete {
		if err == nil && !seen.Found {
			return true, a.finish(ctx, t.job, pull.Result{Outcome: pull.OutcomeSucceeded})
		}
		return a.sayAtTimes(ctx, t, seen, "deleting", now) // a deletion may take any time
	}
	end, why := open, ""
	if err == nil && seen.Resource.UID == t.applied.UID && seen.Resource.Generation >= t.applied.Generation {
		end, why = seen.ends()
	}
	if end == open && late && t.task.ref.Kind != api.OperationKind { // an operation may take any time
		end, why = unhealthy, fmt.Sprintf("not ready after %s: %s", a.ReadyTime, cmp.Or(seen.why("Ready"), "it reported no condition"))
	}
	if end == open {
		return a.sayAtTimes(ctx, t, seen, cmp.Or(seen.blocked(), "applied, not ready yet"), now)
	}
	if closed, err := a.sayNow(ctx, t, seen, "", now); err != nil || closed {
		return closed, err
	}
	result := pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: &t.applied}
	if end == unhealthy {
		result.Outcome, result.Error = pull.OutcomeFailed, why
	}
	return true, a.finish(ctx, t.job, result)
}

// sayAtTimes sends a job's status, at most once per statusEvery if the message is the same. It reports whether the
// control plane no longer waits for the job.
func (a *Agent) sayAtTimes(
	ctx context.Context, t *tracked, seen Observation, message string, now time.Time,
) (closed bool, err error) {
	if !t.said.IsZero() && t.message == message && now.Sub(t.said) < statusEvery {
		return false, nil
	}
	return a.sayNow(ctx, t, seen, message, now)
}

func (a *Agent) sayNow(
	ctx context.Context, t *tracked, seen Observation, message string, now time.Time,
) (closed bool, err error) {
	status := pull.Status{Phase: "Running", Message: message, Timestamp: now.UTC()}
	if !t.task.delete {
		status.AppliedRef = &t.applied
	}
	if seen.Found && seen.Resource.UID == t.applied.UID && seen.ObservedGeneration >= t.applied.Generation {
		status.Conditions = seen.Conditions
	}
	err = a.request(ctx, func(token string) error { return a.client.Status(ctx, token, t.job.ID, status) })
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusConflict {
		return true, nil
	}
	if err == nil {
		t.said, t.message = now, message
	}
	return false, err
}
