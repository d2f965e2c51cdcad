package reconciler

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func scrape(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

func wantMetric(t *testing.T, registry *prometheus.Registry, line string) {
	t.Helper()
	if text := scrape(t, registry); !strings.Contains(text, line+"\n") {
		t.Errorf("metrics lack %q:\n%s", line, text)
	}
}

func TestMetricsCountEveryOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		gate := make(chan struct{})
		answers := map[string]func() (Result, error){
			"done":     func() (Result, error) { return Result{}, nil },
			"wait":     func() (Result, error) { return Result{After: time.Hour}, nil },
			"fail":     func() (Result, error) { return Result{}, errFlaky },
			"terminal": func() (Result, error) { return Result{}, Terminal(errFlaky) },
			"stall":    func() (Result, error) { <-gate; return Result{}, nil },
		}
		l := newHarness(t, Options{Workers: 1, Metrics: NewMetrics(registry)},
			func(_ context.Context, key Key) (Result, error) { return answers[key.Name]() })
		for _, name := range []string{"done", "wait", "fail", "terminal", "stall"} {
			l.Enqueue(Key{Kind: "deployment", Name: name})
			synctest.Wait()
		}
		l.Enqueue(web, api)
		for _, line := range []string{
			`tend_reconciliations_total{kind="deployment"} 4`,
			`tend_reconciliations_successful_total{kind="deployment"} 1`,
			`tend_reconciliations_requeued_total{kind="deployment"} 1`,
			`tend_reconciliations_failed_total{kind="deployment"} 2`,
			`tend_reconciliation_duration_seconds_count{kind="deployment",result="successful"} 1`,
			`tend_reconciliation_duration_seconds_count{kind="deployment",result="requeued"} 1`,
			`tend_reconciliation_duration_seconds_count{kind="deployment",result="failed"} 1`,
			`tend_reconciliation_duration_seconds_count{kind="deployment",result="terminal"} 1`,
			`tend_queue_depth{kind="deployment"} 2`,
			`tend_resting_keys{kind="deployment"} 1`,
			`tend_reconcile_panics_total{kind="deployment"} 0`,
		} {
			wantMetric(t, registry, line)
		}
		answers["web"], answers["api"] = answers["done"], answers["done"]
		close(gate)
		l.stop(t)
	})
}

func TestMetricsOfOneRegistryAreSharedByControllers(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	for _, name := range []string{"deployment", "job", "job"} {
		New(Options{Name: name, Metrics: metrics})
	}
	wantMetric(t, registry, `tend_queue_depth{kind="deployment"} 0`)
	wantMetric(t, registry, `tend_queue_depth{kind="job"} 0`)
}

// Successful, failed and requeued add up to total at every scrape, also while many workers count.
func TestCountsAddUpAtEveryScrape(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	outcomes := []outcome{{}, {result: Result{After: time.Hour}}, {err: errFlaky}, {err: Terminal(errFlaky)}}
	var counted atomic.Int64
	var working sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		meter := metrics.meter("deployment", func() queueState { return queueState{} })
		working.Go(func() {
			for {
				for _, out := range outcomes {
					out.took = time.Second
					meter.observe(out)
					counted.Add(1)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 500 {
		got := values(t, registry)
		if sum := got["successful"] + got["failed"] + got["requeued"]; got["total"] != sum {
			t.Errorf("total %v, but successful, failed and requeued add up to %v", got["total"], sum)
			break
		}
	}
	close(stop)
	working.Wait()
	got, all := values(t, registry), float64(counted.Load())
	if got["total"] != all || got["failed"] != all/2 || got["average"] != 1 {
		t.Errorf("got %v of %v reconciles", got, all)
	}
}

// values returns the counters of one scrape by the last part of their names.
func values(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		metric := family.GetMetric()[0]
		switch name := family.GetName(); name {
		case "tend_reconciliations_total":
			out["total"] = metric.GetCounter().GetValue()
		case "tend_average_reconciliation_time":
			out["average"] = metric.GetGauge().GetValue()
		default:
			name = strings.TrimSuffix(strings.TrimPrefix(name, "tend_reconciliations_"), "_total")
			out[name] = metric.GetCounter().GetValue()
		}
	}
	return out
}

// A key that waits for a worker ages, and no longer once a worker has it.
func TestTheOldestQueuedKeyIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		gate := make(chan struct{})
		l := newHarness(t, Options{Workers: 1, Metrics: NewMetrics(registry)}, func(context.Context, Key) (Result, error) {
			<-gate
			return Result{}, nil
		})
		l.Enqueue(web)
		<-time.After(time.Minute)
		l.Enqueue(api)
		<-time.After(7 * time.Second)
		wantMetric(t, registry, `tend_queue_oldest_seconds{kind="deployment"} 7`)
		close(gate)
		synctest.Wait()
		wantMetric(t, registry, `tend_queue_oldest_seconds{kind="deployment"} 0`)
		l.stop(t)
	})
}
