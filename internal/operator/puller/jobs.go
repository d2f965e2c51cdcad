package puller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/platform/delay"
)

// pollJobs requests jobs and does them one after the other, until ctx ends. At the start, and after a failure, some
// acknowledged jobs may not have been done: it resumes them until it gets only jobs that it already tracks.
func (p *Puller) pollJobs(ctx context.Context) error {
	again := newBackoff(p.Jitter)
	for resume := true; ctx.Err() == nil; {
		more, err := p.poll(ctx, resume)
		switch {
		case err == nil:
			again.reset()
			resume = resume && more
		case isEnd(err):
			return err
		case ctx.Err() == nil:
			resume = true
			wait := again.after(err)
			p.Logger.InfoContext(ctx, "a request to the control plane failed; it is retried", "after", wait, "error", err)
			_ = delay.For(ctx, wait)
		}
	}
	return nil
}

// poll requests jobs once and does them. It reports whether any was not tracked before.
func (p *Puller) poll(ctx context.Context, resume bool) (more bool, err error) {
	var sent pull.Jobs
	err = p.request(ctx, func(token string) (err error) {
		sent, err = p.client.Jobs(ctx, token, p.current().ClusterID, p.Wait, resume)
		return err
	})
	if err == nil {
		p.queries.add(sent.Queries, p.Now())
	}
	jobs := sent.Jobs
	var passing error
	var done []*tracked
	for i := 0; err == nil && i < len(jobs); i++ {
		more = more || !p.isTracked(jobs[i].ID)
		var one *tracked
		if one, err = p.do(ctx, jobs[i]); errors.Is(err, ErrPassing) {
			passing, err = err, nil // it comes again; the others don't wait for it
		}
		if one != nil {
			done = append(done, one)
		}
	}
	for _, failed := range []error{p.remember(ctx, done), passing} {
		if err == nil {
			err = failed
		}
	}
	return more, err
}

// remember stores the keys of finished jobs in one write, and tracks the jobs. If the write fails, the jobs come again;
// doing them again changes nothing.
func (p *Puller) remember(ctx context.Context, done []*tracked) error {
	if len(done) == 0 {
		return nil
	}
	keys := make([]string, len(done))
	for i, t := range done {
		keys[i] = t.job.IdempotencyKey
	}
	if err := p.Keys.Remember(ctx, keys...); err != nil {
		return err
	}
	for _, t := range done {
		p.intents.done(t.job.IdempotencyKey, t.task)
		p.track(t.job, t.task, t.applied)
	}
	return nil
}

// do acknowledges a job and does it. It returns a job that it did now, to be remembered. For any other job it has sent
// the result. After an error the job comes again.
func (p *Puller) do(ctx context.Context, job pull.Job) (*tracked, error) {
	err := p.request(ctx, func(token string) error { return p.client.Acknowledge(ctx, token, job.ID) })
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusConflict:
		return nil, nil // another job has replaced it, or it has a result
	}
	if err != nil {
		return nil, err
	}
	p.Taken(job)
	if !job.ExpiresAt.IsZero() && !p.Now().Before(job.ExpiresAt) {
		return nil, p.finish(ctx, job, pull.Result{Outcome: pull.OutcomeNoop, Error: pull.ErrorExpired})
	}
	var task task
	if err = p.Verify(ctx, job); err == nil {
		task, err = read(job)
	}
	switch {
	case errors.Is(err, ErrPassing):
		return nil, err
	case err != nil:
		return nil, p.finish(ctx, job, pull.Result{Outcome: pull.OutcomeFailed, Error: err.Error()})
	}
	done, err := p.Keys.Done(ctx, job.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	if done {
		return nil, p.repeat(ctx, job, task)
	}
	applied, err := task.run(ctx, p.Applier)
	var conflict *ConflictError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrPassing):
		p.sayPassing(ctx, job, err)
		return nil, err
	case errors.As(err, &conflict):
		if err = p.finish(ctx, job, pull.Result{Outcome: pull.OutcomeConflict, Error: err.Error()}); err == nil {
			p.intents.done(job.IdempotencyKey, task) // the conflict ends when the resource is gone
		}
		return nil, err
	case err != nil:
		return nil, p.finish(ctx, job, pull.Result{Outcome: pull.OutcomeFailed, Error: err.Error()})
	}
	return &tracked{job: job, task: task, applied: applied}, nil
}

// sayPassing reports why a job is not done yet. If the report fails, nothing changes.
func (p *Puller) sayPassing(ctx context.Context, job pull.Job, why error) {
	status := pull.Status{Phase: "Running", Message: why.Error(), Timestamp: p.Now().UTC()}
	_ = p.request(ctx, func(token string) error { return p.client.Status(ctx, token, job.ID, status) })
}

// repeat answers a job that was done before. If the job is still tracked, its result will follow.
func (p *Puller) repeat(ctx context.Context, job pull.Job, task task) error {
	if p.isTracked(job.ID) {
		return nil
	}
	result := pull.Result{Outcome: pull.OutcomeNoop}
	seen, err := p.Applier.Observe(ctx, task.ref)
	switch {
	case task.delete && (err != nil || seen.Found):
		p.track(job, task, task.ref) // its deletion was requested, and it still exists
		return nil
	case err == nil && seen.Found:
		result.AppliedRef = &seen.Resource
	}
	p.intents.done(job.IdempotencyKey, task)
	if result.AppliedRef != nil { // its conditions answer this job too
		again := &tracked{job: job, task: task, applied: seen.Resource}
		if closed, err := p.sayNow(ctx, again, seen, "", p.Now()); err != nil || closed {
			return err
		}
	}
	return p.finish(ctx, job, result)
}

// finish sends the result of a job. It returns no error if the control plane already has a result, or no longer has the
// job.
func (p *Puller) finish(ctx context.Context, job pull.Job, result pull.Result) error {
	result.Timestamp = p.Now().UTC()
	err := p.request(ctx, func(token string) error { return p.client.Result(ctx, token, job.ID, result) })
	if status := statusOf(err); status == http.StatusConflict || status == http.StatusNotFound {
		return nil
	}
	if err == nil {
		p.Finished(job, result.Outcome)
	}
	return err
}

// task is the request of a job.
type task struct {
	delete   bool
	ref      api.ClusterResource
	manifest json.RawMessage
	// force takes back fields that were changed since they were applied.
	force bool
}

// The intents of jobs of kind intent.
const (
	intentInstance  = "ensure-application-instance"
	intentOperation = "request-operation"
	intentDelete    = "delete-application-instance"
)

// read returns the request of a job.
func read(job pull.Job) (task, error) {
	switch job.Kind {
	case pull.KindApply:
		task, err := applies(job.Payload)
		task.force = job.Force
		return task, err
	case pull.KindDelete:
		var ref api.ClusterResource
		if err := json.Unmarshal(job.Payload, &ref); err != nil || ref.Name == "" || ref.Kind == "" || ref.APIVersion == "" {
			return task{}, fmt.Errorf("the payload of a delete needs apiVersion, kind and name")
		}
		return task{delete: true, ref: ref}, nil
	case pull.KindIntent:
		return readIntent(job.Payload)
	}
	return task{}, fmt.Errorf("jobs of kind %.40q are not known", job.Kind)
}

func applies(manifest json.RawMessage) (task, error) {
	var head struct {
		APIVersion string                           `json:"apiVersion"`
		Kind       string                           `json:"kind"`
		Metadata   struct{ Name, Namespace string } `json:"metadata"`
	}
	if err := json.Unmarshal(manifest, &head); err != nil || head.Metadata.Name == "" || head.Kind == "" ||
		head.APIVersion == "" {
		return task{}, fmt.Errorf("the payload is not a manifest: it needs apiVersion, kind and metadata.name")
	}
	ref := api.ClusterResource{
		APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name,
	}
	return task{ref: ref, manifest: manifest}, nil
}

func readIntent(payload json.RawMessage) (task, error) {
	var intent struct {
		Intent              string          `json:"intent"`
		ApplicationInstance json.RawMessage `json:"applicationInstance"`
		Operation           json.RawMessage `json:"operation"`
		Name                string          `json:"name"`
		Namespace           string          `json:"namespace"`
	}
	if err := json.Unmarshal(payload, &intent); err != nil {
		return task{}, fmt.Errorf("the payload of an intent can't be read: %w", err)
	}
	switch intent.Intent {
	case intentInstance:
		return applies(intent.ApplicationInstance)
	case intentOperation:
		return applies(intent.Operation)
	case intentDelete:
		if intent.Name == "" || intent.Namespace == "" {
			return task{}, fmt.Errorf("the intent %s needs name and namespace", intentDelete)
		}
		return task{delete: true, ref: api.ClusterResource{
			APIVersion: api.AppsAPIVersion, Kind: api.ApplicationInstanceKind, Namespace: intent.Namespace, Name: intent.Name,
		}}, nil
	}
	return task{}, fmt.Errorf("the intent %.40q is not known", intent.Intent)
}

// run carries out a task.
func (t task) run(ctx context.Context, applier Applier) (api.ClusterResource, error) {
	if t.delete {
		return t.ref, applier.Delete(ctx, t.ref)
	}
	return applier.Apply(ctx, t.manifest, t.force)
}
