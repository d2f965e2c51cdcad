package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/storetest"
)

func TestAMeasuredStoreKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store {
		return Store(memory.New(), NewStoreMetrics(prometheus.NewRegistry()))
	})
}

// slow is a store whose commits take a second and return err.
type slow struct {
	store.Store
	err error
}

func (s *slow) Commit(context.Context, store.Txn) (int64, error) {
	<-time.After(time.Second)
	return 7, s.err
}

func TestCallsAreTimedAndErrorsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		inner := &slow{}
		s := Store(inner, NewStoreMetrics(registry))
		for _, err := range []error{nil, &store.ConflictError{Key: "/a"}, fmt.Errorf("commit: %w", store.ErrUnknownOutcome), errors.New("no")} {
			inner.err = err
			if _, got := s.Commit(t.Context(), store.Txn{Site: "test"}); !errors.Is(got, err) {
				t.Errorf("the error became %v, want %v", got, err)
			}
		}
		want := `
# HELP tend_store_request_errors_total Calls of the store that failed, by the kind of their error.
# TYPE tend_store_request_errors_total counter
tend_store_request_errors_total{error="canceled",operation="commit"} 0
tend_store_request_errors_total{error="conflict",operation="commit"} 1
tend_store_request_errors_total{error="no_space",operation="commit"} 0
tend_store_request_errors_total{error="other",operation="commit"} 1
tend_store_request_errors_total{error="unknown_outcome",operation="commit"} 1
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "tend_store_request_errors_total"); err != nil {
			t.Error(err)
		}
		if count, sum := histogram(t, registry, "tend_store_request_duration_seconds", "commit"); count != 4 || sum != 4 {
			t.Errorf("%d commits of %v s together, want 4 of 4", count, sum)
		}
	})
}

func TestTheViewsLagIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := NewStoreMetrics(prometheus.NewRegistry())
		s := Store(&slow{}, metrics)
		commit := func() {
			if _, err := s.Commit(t.Context(), store.Txn{}); err != nil { // revision 7
				t.Fatal(err)
			}
		}
		commit()
		if got := metrics.lag(); got != 0 {
			t.Errorf("%s without a view", got)
		}
		var seen int64 = 6
		metrics.Follow(func() int64 { return seen })
		<-time.After(3 * time.Second)
		if got := metrics.lag(); got != 3*time.Second {
			t.Errorf("%s after 3 s", got)
		}
		if seen = 7; metrics.lag() != 0 {
			t.Errorf("%s, but the view has the commit", metrics.lag())
		}
	})
}

// histogram returns the count and the sum of one operation's histogram.
func histogram(t *testing.T, registry *prometheus.Registry, name, operation string) (count uint64, sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && metric.GetLabel()[0].GetValue() == operation {
				return metric.GetHistogram().GetSampleCount(), metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return 0, 0
}
