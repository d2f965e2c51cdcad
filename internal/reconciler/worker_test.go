package reconciler

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestOneWorkerPerKeyAndKeysInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var running, most atomic.Int64
		l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-gate
			return Result{}, nil
		})
		l.Enqueue(web)
		synctest.Wait()
		l.Enqueue(web)
		synctest.Wait()
		if got := running.Load(); got != 1 {
			t.Errorf("%d workers have the same key, want 1", got)
		}
		l.Enqueue(keys(10)...)
		synctest.Wait()
		if got := running.Load(); got != 4 {
			t.Errorf("%d keys run in parallel, want the 4 of the default", got)
		}
		close(gate)
		synctest.Wait()
		if got := most.Load(); got != 4 {
			t.Errorf("at most %d keys ran in parallel, want 4", got)
		}
		l.stop(t)
	})
}

func TestEventDuringReconcileRequeuesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
			<-gate
			return Result{After: time.Hour}, nil
		})
		l.Enqueue(web)
		synctest.Wait()
		for range 5 {
			l.Enqueue(web)
		}
		close(gate)
		synctest.Wait()
		l.wantCount(t, web, 2, "five events during a reconcile are one more, not an hour later")
		l.stop(t)
	})
}

func TestQueuedKeyIsReconciledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		l := newHarness(t, Options{Workers: 1}, func(context.Context, Key) (Result, error) {
			<-gate
			return Result{}, nil
		})
		l.Enqueue(api)
		synctest.Wait()
		l.Enqueue(web, web)
		l.Enqueue(web)
		if got := len(l.Snapshot().Queued); got != 1 {
			t.Errorf("%d keys are queued, want 1", got)
		}
		close(gate)
		synctest.Wait()
		l.wantCount(t, web, 1, "events of a queued key are one reconcile")
		l.stop(t)
	})
}

func TestDeadlineCutsAndCountsAsFailed(t *testing.T) {
	tests := map[string]struct {
		reason string
		answer error
	}{
		"Error":    {"the cut reconcile says so", context.DeadlineExceeded},
		"Nil":      {"a reconcile that hides its cut may have done half", nil},
		"Terminal": {"what a cut reconcile calls terminal is not to be trusted", Terminal(errFlaky)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t, Options{}, func(ctx context.Context, _ Key) (Result, error) {
					<-ctx.Done()
					return Result{}, test.answer
				})
				l.Enqueue(web)
				l.pass(299 * time.Second)
				if got := len(l.Snapshot().Running); got != 1 {
					t.Fatalf("%d keys run before the deadline, want 1", got)
				}
				l.pass(time.Second)
				retrying := l.Snapshot().Retrying
				if len(retrying) != 1 || !errors.Is(retrying[0].Err, ErrDeadline) || retrying[0].Failures != 1 {
					t.Errorf("%s: retrying %+v, want the key with %v", test.reason, retrying, ErrDeadline)
				}
				l.stop(t)
			})
		})
	}
}

func TestPanicIsRecoveredLoggedCountedRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := hear(t)
		registry := prometheus.NewRegistry()
		o := Options{Metrics: NewMetrics(registry), Logger: slog.Default()}
		l := newHarness(t, o, func(_ context.Context, key Key) (Result, error) {
			panic("no such slot")
		})
		l.Enqueue(web)
		synctest.Wait()
		retrying := l.Snapshot().Retrying
		if len(retrying) != 1 ||
			retrying[0].Err.Error() != "panic in internal/reconciler.TestPanicIsRecoveredLoggedCountedRetried: no such slot" {
			t.Errorf("retrying %+v, want the panicked key", retrying)
		}
		l.pass(2 * time.Second)
		l.wantCount(t, web, 2, "a panic is retried like a failure")
		l.stop(t)
		for _, want := range []string{"panic recovered", "no such slot", "worker_test.go", "object=deployment/prod/web",
			"name=web", "scope=prod"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("log lacks %q:\n%s", want, log.String())
			}
		}
		wantMetric(t, registry, `tend_reconcile_panics_total{kind="deployment"} 2`)
		wantMetric(t, registry, `tend_reconcile_panicked{kind="deployment",name="web",scope="prod"} 1`)
		wantMetric(t, registry, `tend_reconciliations_failed_total{kind="deployment"} 2`)
	})
}
