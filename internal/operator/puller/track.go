package puller

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

func (p *Puller) track(job pull.Job, task task, applied api.ClusterResource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracked = append(p.tracked, &tracked{job: job, task: task, applied: applied, since: p.Now()})
	p.wake()
}

func (p *Puller) isTracked(job string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.tracked, func(t *tracked) bool { return t.job.ID == job })
}

// Moved says that a resource may have changed: all tracked ones are observed at once.
func (p *Puller) Moved() { p.wake() }

func (p *Puller) wake() {
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

// trackReady observes what jobs applied, and sends their status and results, until ctx ends.
func (p *Puller) trackReady(ctx context.Context) error {
	ticker := time.NewTicker(trackEvery)
	defer ticker.Stop()
	again := newBackoff(p.Jitter)
	for {
		select {
		case <-ticker.C:
		case <-p.moved:
		case <-ctx.Done():
			return nil
		}
		err := p.observeAll(ctx)
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

func (p *Puller) observeAll(ctx context.Context) error {
	p.mu.Lock()
	all := slices.Clone(p.tracked)
	p.mu.Unlock()
	for _, t := range all {
		over, err := p.observe(ctx, t)
		if err != nil {
			return err
		}
		if over {
			p.mu.Lock()
			p.tracked = slices.DeleteFunc(p.tracked, func(other *tracked) bool { return other == t })
			p.mu.Unlock()
		}
	}
	return nil
}

// observe sends a job's result if it is known, or if an instance did not become ready in time. Otherwise it sends the
// status if one is due.
func (p *Puller) observe(ctx context.Context, t *tracked) (over bool, err error) {
	now := p.Now()
	late := now.Sub(t.since) >= p.ReadyTime
	seen, err := p.Applier.Observe(ctx, t.task.ref)
	if err != nil {
		p.Logger.WarnContext(ctx, "a resource can't be observed", "resource", t.task.ref.Kind+"/"+t.task.ref.Namespace+"/"+t.task.ref.Name, "error", err)
		if !late {
			return false, nil
		}
	}
	if t.task.delete {
		if err == nil && !seen.Found {
			return true, p.finish(ctx, t.job, pull.Result{Outcome: pull.OutcomeSucceeded})
		}
		return p.sayAtTimes(ctx, t, seen, "deleting", now) // a deletion may take any time
	}
	end, why := open, ""
	if err == nil && seen.Resource.UID == t.applied.UID && seen.Resource.Generation >= t.applied.Generation {
		end, why = seen.ends()
	}
	if end == open && late && t.task.ref.Kind != api.OperationKind { // an operation may take any time
		end, why = unhealthy, fmt.Sprintf("not ready after %s: %s", p.ReadyTime, cmp.Or(seen.why("Ready"), "it reported no condition"))
	}
	if end == open {
		return p.sayAtTimes(ctx, t, seen, cmp.Or(seen.blocked(), "applied, not ready yet"), now)
	}
	if closed, err := p.sayNow(ctx, t, seen, "", now); err != nil || closed {
		return closed, err
	}
	result := pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: &t.applied}
	if end == unhealthy {
		result.Outcome, result.Error = pull.OutcomeFailed, why
	}
	return true, p.finish(ctx, t.job, result)
}

// sayAtTimes sends a job's status, at most once per statusEvery if the message is the same. It reports whether the
// control plane no longer waits for the job.
func (p *Puller) sayAtTimes(
	ctx context.Context, t *tracked, seen Observation, message string, now time.Time,
) (closed bool, err error) {
	if !t.said.IsZero() && t.message == message && now.Sub(t.said) < statusEvery {
		return false, nil
	}
	return p.sayNow(ctx, t, seen, message, now)
}

func (p *Puller) sayNow(
	ctx context.Context, t *tracked, seen Observation, message string, now time.Time,
) (closed bool, err error) {
	status := pull.Status{Phase: "Running", Message: message, Timestamp: now.UTC()}
	if !t.task.delete {
		status.AppliedRef = &t.applied
	}
	if seen.Found && seen.Resource.UID == t.applied.UID && seen.ObservedGeneration >= t.applied.Generation {
		status.Conditions = seen.Conditions
	}
	err = p.request(ctx, func(token string) error { return p.client.Status(ctx, token, t.job.ID, status) })
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusConflict {
		return true, nil
	}
	if err == nil {
		t.said, t.message = now, message
	}
	return false, err
}
