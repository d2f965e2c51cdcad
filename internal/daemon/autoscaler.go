package daemon

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/autoscaler"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/intent"
	"tend.dev/tend/internal/store/view"
)

// buildAutoscaler makes the controller that scales by load: it measures through the agent and speaks through the verbs,
// which are made after it.
func (d *daemon) buildAutoscaler(deps control.Deps) *engine.Controller {
	steps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tend_autoscaler_decisions_total", Help: "Changes of a replica count by the autoscaler, by direction (up, down).",
	}, []string{"direction"})
	steps.WithLabelValues("up")
	steps.WithLabelValues("down")
	d.registry.MustRegister(steps)
	c := autoscaler.New(deps, autoscaler.Options{
		Interval: d.AutoscaleInterval, Load: d.load, Scale: d.autoscale, Holder: intent.ReplicasHolder,
		Stepped: func(direction string) { steps.WithLabelValues(direction).Inc() },
	})
	work := engine.New(d.engineOptions(engine.Options{Name: autoscaler.Kind, Reconciler: c, Replay: c.Keys}))
	d.view.OnChange(func(change view.Change) { work.Enqueue(autoscaler.Affected(change)...) })
	return work
}

// load is what pods used since it was asked last.
func (d *daemon) load(ctx context.Context, tasks []string) []autoscaler.Sample {
	out := make([]autoscaler.Sample, len(tasks))
	for i, usage := range d.agent.Load(ctx, tasks) {
		out[i] = autoscaler.Sample{CPUPercent: usage.CPUPercent, Known: usage.Err == nil}
	}
	return out
}

// autoscale sets the replicas as people's verb does, in a role of its own.
func (d *daemon) autoscale(ctx context.Context, ref api.Ref, replicas int) error {
	_, err := d.intents.Scale(ctx, intent.Target{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name}, replicas,
		intent.Speaker{Manager: api.ManagerAutoscaler})
	var refused *intent.Error
	if errors.As(err, &refused) && refused.Reason != intent.Busy {
		return autoscaler.ErrRefused
	}
	return err
}
