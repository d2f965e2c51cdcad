package daemon

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/job"
	"tend.dev/tend/internal/control/scheduler"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// buildJobs makes the controllers of jobs and cron jobs.
func (d *daemon) buildJobs(deps control.Deps, nodes *scheduler.Scheduler) (engines []engine.Member) {
	d.jobs = map[api.Kind]*job.Controller{}
	for _, kind := range []api.Kind{api.KindJob, api.KindCronJob} {
		c := job.New(deps, job.Options{Kind: kind, Refusals: nodes.Refusals, NodeTimeout: d.NodeTimeout})
		work := engine.New(d.engineOptions(engine.Options{Name: string(kind), Reconciler: c, Replay: c.Keys, Dirty: c.Dirty}))
		d.view.OnChange(func(change view.Change) { work.Enqueue(c.Affected(d.snapshot(), change)...) })
		d.jobs[kind], engines = c, append(engines, work)
	}
	return engines
}

// previewer is a controller that says what it would do.
type previewer interface {
	Preview(snap layout.Snapshot, object api.Object) ([]api.PlannedAction, error)
}

// previewer is the controller of a kind, if it has one.
func (d *daemon) previewer(kind api.Kind) (previewer, bool) {
	if c, ok := d.jobs[kind]; ok {
		return c, true
	}
	c, ok := d.workloads[kind]
	return c, ok
}
