package daemon

import (
	"context"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/messenger"
	"tend.dev/tend/internal/control/webhook"
	"tend.dev/tend/internal/kinds/sink"
	"tend.dev/tend/internal/platform/version"
)

// source returns the source of all events of the cluster.
func (d *daemon) source() string { return "/tend/clusters/" + d.cluster.UID }

// sinks returns the options of the sinks' controller, and registers its metrics.
func (d *daemon) sinks(caller *webhook.Caller) sink.Options {
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tend_sink_deliveries_total",
		Help: "What became of what sinks sent, by the sink's type and the outcome: delivered, retried, dead (given up) or skipped (deleted before it could be sent).",
	}, []string{"type", "outcome"})
	for _, kind := range api.SinkTypes {
		for _, outcome := range sink.Outcomes {
			outcomes.WithLabelValues(kind, outcome)
		}
	}
	d.Registry.MustRegister(outcomes, behind{d})
	program, err := os.Executable()
	if err != nil {
		d.Logger.Warn("messages by shoutrrr can't be sent", "error", err)
	}
	people := &messenger.Messenger{Roots: d.MailRoots, Program: program}
	return sink.Options{
		Effects: sink.Effects{Call: caller.Call, Mail: people.Mail, Relay: people.Relay,
			Agent: "tend-sink/" + version.Version},
		Log: d.events, Source: d.source(),
		Count: func(kind, outcome string) { outcomes.WithLabelValues(kind, outcome).Inc() },
	}
}

// testSink sends a test as a sink does, and returns the answer. The sink's own events are not affected.
func (d *daemon) testSink(ctx context.Context, object api.Object) (api.SinkTest, error) {
	deps := control.Deps{Snapshot: d.snapshot, Sealer: d.keys, Logger: d.Logger, Now: d.Now}
	return sink.Test(ctx, sink.NewSender(deps, d.plane.Sinks.Effects, d.source()), object)
}

// behind measures from the view how far each sink is behind: every server of a cluster then reports it, and only for
// existing sinks.
type behind struct{ *daemon }

var behindDesc = prometheus.NewDesc("tend_sink_behind_seconds",
	"The age of the oldest event that a sink has not sent; 0 if it has sent all.", []string{"sink"}, nil)

// Describe implements prometheus.Collector.
func (b behind) Describe(out chan<- *prometheus.Desc) { out <- behindDesc }

// Collect implements prometheus.Collector.
func (b behind) Collect(out chan<- prometheus.Metric) {
	s, now := b.snapshot(), time.Now()
	if b.Now != nil {
		now = b.Now()
	}
	for object := range s.Objects(api.KindSink) {
		age := time.Duration(0)
		if p := s.SinkProgress(object.Value.Ref()); p.Exists() && p.Value.UID == object.Value.Metadata.UID &&
			!p.Value.BehindSince.IsZero() {
			age = now.Sub(p.Value.BehindSince)
		}
		out <- prometheus.MustNewConstMetric(behindDesc, prometheus.GaugeValue, max(age, 0).Seconds(), object.Value.Name)
	}
}
