package engine

import (
	"context"
	"net/http/httptest"
	"strings"
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
