package daemon

import (
	"context"
	"errors"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/control/watcher"
	"tend.dev/tend/internal/control/webhook"
	"tend.dev/tend/internal/kinds/autoscaler"
	"tend.dev/tend/internal/kinds/delivery"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store/records"
)

func (d *daemon) newPlane() *controlplane.Plane {
	caller := webhook.New()
	d.onStop(func() error { caller.Close(); return nil })
	return controlplane.New(controlplane.Options{
		View: d.view, Sealer: d.keys, NodeTimeout: d.NodeTimeout, NodeGather: nodeapi.Gather(d.NodeTimeout, d.Heartbeat),
		AutoscaleInterval: d.AutoscaleInterval, Resync: d.Resync,
		FormerLeader: d.formerLeader(), Alone: d.aloneSince(),
		Effects: controlplane.Effects{
			Sinks: d.sinks(caller),
			Call:  caller.Call, Blob: d.readBlob, Load: d.load, Scale: d.autoscale, Sources: d.newSyncer(),
			Scaled: d.counter("tend_autoscaler_decisions_total",
				"Changes of a replica count by the autoscaler, by direction (up, down).",
				"direction", "up", "down"),
			Delivered: d.counter("tend_webhook_deliveries_total",
				"Attempts to call a webhook, by outcome: delivered, failed or retried.",
				"outcome", delivery.CountDelivered, delivery.CountFailed, delivery.CountRetried),
		},
		Changes:        func(before, after api.Release) []string { return d.verbs.ReleaseChanges(before, after) },
		ReplicasHolder: verbs.ReplicasHolder, Logger: d.Logger, Metrics: d.metrics,
		Watchers: watcher.NewMetrics(d.Registry, string(api.KindSync)), Tracer: d.Tracer, Now: d.Now,
	})
}

// counter registers a counter with one label, whose values exist from the start.
func (d *daemon) counter(name, help, label string, values ...string) (count func(value string)) {
	counts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		counts.WithLabelValues(value)
	}
	d.Registry.MustRegister(counts)
	return func(value string) { counts.WithLabelValues(value).Inc() }
}

// maxHookFile bounds a webhook's body: a larger file is cut and is then not JSON.
const maxHookFile = 1 << 20

// readBlob returns the bytes of an asset's digest.
func (d *daemon) readBlob(digest string) ([]byte, error) {
	file, err := d.files.blobs.Open(digest)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxHookFile))
}

// load returns the resource usage of pods since the last call.
func (d *daemon) load(ctx context.Context, tasks []string) []autoscaler.Sample {
	out, snap := make([]autoscaler.Sample, len(tasks)), d.snapshot()
	placed := make([]nodeapi.Placed, len(tasks))
	for i, id := range tasks {
		placed[i].Pod = id
		if task := snap.Task(id); task.Exists() {
			placed[i].Node = task.Value.Node
		}
	}
	for i, usage := range d.fleet.Sample(ctx, placed, nodeapi.Node.Load) {
		out[i] = autoscaler.Sample{CPUPercent: usage.CPUPercent, Known: usage.Err == nil}
	}
	return out
}

// autoscale sets the replicas by the users' verb, as a field manager of its own and within the controllers' term.
func (d *daemon) autoscale(ctx context.Context, term records.Committer, of autoscaler.Deployment, replicas int) error {
	target := verbs.TargetOf(of.Ref)
	target.UID = of.UID
	_, err := d.verbs.Scale(ctx, target, replicas,
		verbs.FieldManager{Manager: api.ManagerAutoscaler, Through: term})
	var refused *verbs.Error
	if errors.As(err, &refused) && refused.Reason != verbs.Busy {
		return autoscaler.ErrRefused
	}
	return err
}
