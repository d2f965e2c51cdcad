package link

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/api/pull"
)

// The values of vworkspace_operator_connectivity_state.
const (
	stateUnregistered = -1
	stateDisconnected = 0
	stateConnected    = 1
)

// metrics reports the state of the connection. Gauges are read when scraped; jobs are counted.
type metrics struct {
	connection *Connection

	connectivity *prometheus.Desc
	waiting      *prometheus.Desc
	age          *prometheus.Desc
	lag          prometheus.Gauge
	received     *prometheus.CounterVec
	namespaces   prometheus.Gauge
	jobs         *prometheus.CounterVec
}

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(connection *Connection) *metrics {
	const prefix = "vworkspace_operator_"
	return &metrics{
		connection: connection,
		connectivity: prometheus.NewDesc(prefix+"connectivity_state",
			"1 while the control plane answers and accepts the credential, 0 while it doesn't, -1 while there is no connection.", []string{"mode"}, nil),
		waiting: prometheus.NewDesc(prefix+"event_buffer_occupancy", "Events that wait to be sent to the control plane.", nil, nil),
		age:     prometheus.NewDesc(prefix+"credential_age_seconds", "Time since the credential in use was issued.", nil, nil),
		lag: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "pull_job_lag_seconds", Help: "Time between the creation of the last job at the control plane and its acknowledgement."}),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "received_jobs_total", Help: "Jobs that were acknowledged, by type. One that is sent again counts again."}, []string{"type"}),
		namespaces: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "managed_namespaces", Help: "Namespaces that are labelled for the operator to work in."}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "applied_jobs_total", Help: "Jobs whose result the control plane has, by type and outcome."}, []string{"type", "outcome"}),
	}
}

// typeOf returns the metric label for a job's kind. Unknown kinds of a control plane share one label.
func typeOf(job pull.Job) string {
	switch job.Kind {
	case pull.KindApply, pull.KindDelete, pull.KindIntent:
		return job.Kind
	}
	return "unknown"
}

// taken counts a job and measures its delay. The clocks of two machines may differ: a negative delay counts as 0.
func (m *metrics) taken(job pull.Job) {
	m.received.WithLabelValues(typeOf(job)).Inc()
	if !job.CreatedAt.IsZero() {
		m.lag.Set(max(m.connection.Now().Sub(job.CreatedAt), 0).Seconds())
	}
}

// finished counts a job whose result was sent.
func (m *metrics) finished(job pull.Job, outcome string) {
	m.jobs.WithLabelValues(typeOf(job), outcome).Inc()
}

// counting returns a function that also counts the namespaces that managed returns. It returns nil for nil.
func (m *metrics) counting(
	managed func(context.Context) ([]opsv1alpha1.ManagedNamespace, error),
) func(context.Context) ([]opsv1alpha1.ManagedNamespace, error) {
	if managed == nil {
		return nil
	}
	return func(ctx context.Context) ([]opsv1alpha1.ManagedNamespace, error) {
		all, err := managed(ctx)
		m.namespaces.Set(float64(len(all)))
		return all, err
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.connectivity, m.waiting, m.age} {
		to <- desc
	}
	m.lag.Describe(to)
	m.received.Describe(to)
	m.namespaces.Describe(to)
	m.jobs.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	state, waiting, issued := m.connection.measure()
	to <- prometheus.MustNewConstMetric(m.connectivity, prometheus.GaugeValue, state, "pull")
	to <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(waiting))
	if !issued.IsZero() {
		to <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, m.connection.Now().Sub(issued).Seconds())
	}
	m.lag.Collect(to)
	m.received.Collect(to)
	m.namespaces.Collect(to)
	m.jobs.Collect(to)
}

// measure returns the state of the connection, the number of waiting events, and the time of the credential's issue;
// zero if unknown.
func (c *Connection) measure() (state float64, waiting int, issued time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session
	if s == nil || s.puller == nil {
		return stateUnregistered, 0, time.Time{}
	}
	waiting, _ = s.puller.Buffered()
	state = stateDisconnected
	if !s.over && s.health != nil && s.health.Connected && s.health.Authenticated {
		state = stateConnected
	}
	return state, waiting, s.secret.since()
}
