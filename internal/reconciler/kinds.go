package reconciler

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// tally counts the reconciles of a kind. All its numbers are read at once, so that at every scrape those that were
// successful, failed and requeued add up to all.
type tally struct {
	mu                           sync.Mutex
	successful, failed, requeued int
	took                         time.Duration
}

func (t *tally) add(result string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.took += took
	switch result {
	case resultSuccessful:
		t.successful++
	case resultRequeued:
		t.requeued++
	default:
		t.failed++
	}
}

// passes counts a kind's passes over the view.
type passes struct {
	mu        sync.Mutex
	count     int
	processed int
	took      time.Duration
}

func (p *passes) add(processed int, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.processed += processed
	p.took += took
}

// queueState describes the keys that wait in a controller.
type queueState struct {
	// depth is the number of keys that wait for a worker; oldest is the time for which the first of them has waited.
	depth  int
	oldest time.Duration
	rest   int
	// panicked are keys whose last reconcile panicked, 100 at most.
	panicked []Key
}

// kinds is read from the controllers when it is scraped: keeping gauges up to date would cost every enqueue.
type kinds struct {
	total, successful, failed, requeued, average *prometheus.Desc
	depth, oldest, rest, panicked                *prometheus.Desc
	iterations, processed, averageLoop           *prometheus.Desc

	mu      sync.Mutex
	tallies map[string]*tally // they outlive the controllers of a term
	loops   map[string]*passes
	queues  map[string]func() queueState
}

func newKinds() *kinds {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, []string{"kind"}, nil) }
	return &kinds{
		total:      desc("tend_reconciliations_total", "Reconciles that ended."),
		successful: desc("tend_reconciliations_successful_total", "Reconciles that ended well and asked for nothing more."),
		failed:     desc("tend_reconciliations_failed_total", "Reconciles that failed, terminally or not."),
		requeued:   desc("tend_reconciliations_requeued_total", "Reconciles that ended well and asked to be requeued."),
		average: desc("tend_average_reconciliation_time",
			"Mean time of a reconcile in seconds, since the process began; 0 before the first."),
		depth: desc("tend_queue_depth", "Keys that wait for a worker."),
		oldest: desc("tend_queue_oldest_seconds",
			"How long the key that waits longest for a worker has waited; 0 if none waits."),
		rest: desc("tend_resting_keys", "Keys that failed too often or terminally."),
		panicked: prometheus.NewDesc("tend_reconcile_panicked",
			"1 for each key whose last reconcile panicked, 100 of a kind at most.", []string{"kind", "scope", "name"}, nil),
		iterations: desc("tend_scheduler_loop_iterations_total",
			"Passes over the view that look for what is to be done and was not noticed."),
		processed: desc("tend_resources_processed_total", "Keys that such passes found with something to do."),
		averageLoop: desc("tend_average_loop_duration",
			"Mean time of such a pass in seconds, since the process began; 0 before the first."),
		tallies: map[string]*tally{}, loops: map[string]*passes{}, queues: map[string]func() queueState{},
	}
}

// add makes a controller's queue visible and returns the tallies of its kind. A later controller of the same kind
// replaces the former's queue and goes on with its tallies.
func (k *kinds) add(kind string, queue func() queueState) (*tally, *passes) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queues[kind] = queue
	if k.tallies[kind] == nil {
		k.tallies[kind], k.loops[kind] = &tally{}, &passes{}
	}
	return k.tallies[kind], k.loops[kind]
}

// Describe implements prometheus.Collector.
func (k *kinds) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{k.total, k.successful, k.failed, k.requeued, k.average,
		k.depth, k.oldest, k.rest, k.panicked,
		k.iterations, k.processed, k.averageLoop} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (k *kinds) Collect(out chan<- prometheus.Metric) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for kind, queue := range k.queues {
		k.collectReconciles(out, kind, k.tallies[kind])
		k.collectPasses(out, kind, k.loops[kind])
		waits := queue()
		out <- prometheus.MustNewConstMetric(k.depth, prometheus.GaugeValue, float64(waits.depth), kind)
		out <- prometheus.MustNewConstMetric(k.oldest, prometheus.GaugeValue, waits.oldest.Seconds(), kind)
		out <- prometheus.MustNewConstMetric(k.rest, prometheus.GaugeValue, float64(waits.rest), kind)
		for _, key := range waits.panicked {
			out <- prometheus.MustNewConstMetric(k.panicked, prometheus.GaugeValue, 1, key.Kind, key.Scope, key.Name)
		}
	}
}

func (k *kinds) collectReconciles(out chan<- prometheus.Metric, kind string, t *tally) {
	t.mu.Lock()
	successful, failed, requeued, took := float64(t.successful), float64(t.failed), float64(t.requeued), t.took.Seconds()
	t.mu.Unlock()
	total := successful + failed + requeued
	out <- prometheus.MustNewConstMetric(k.total, prometheus.CounterValue, total, kind)
	out <- prometheus.MustNewConstMetric(k.successful, prometheus.CounterValue, successful, kind)
	out <- prometheus.MustNewConstMetric(k.failed, prometheus.CounterValue, failed, kind)
	out <- prometheus.MustNewConstMetric(k.requeued, prometheus.CounterValue, requeued, kind)
	out <- prometheus.MustNewConstMetric(k.average, prometheus.GaugeValue, took/max(total, 1), kind)
}

func (k *kinds) collectPasses(out chan<- prometheus.Metric, kind string, p *passes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out <- prometheus.MustNewConstMetric(k.iterations, prometheus.CounterValue, float64(p.count), kind)
	out <- prometheus.MustNewConstMetric(k.processed, prometheus.CounterValue, float64(p.processed), kind)
	out <- prometheus.MustNewConstMetric(k.averageLoop, prometheus.GaugeValue,
		p.took.Seconds()/float64(max(p.count, 1)), kind)
}
