package telemetry

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/store"
)

// StoreMetrics are the metrics of a store. Create them with NewStoreMetrics.
type StoreMetrics struct {
	calls *Calls
	// newest is the newest successful commit of this process; waiting is a commit that the view was seen to lack.
	newest, waiting atomic.Pointer[committed]
	view            atomic.Pointer[func() int64]
}

// committed is a commit and the time of its answer.
type committed struct {
	revision int64
	at       time.Time
}

// NewStoreMetrics registers the metrics of a store.
func NewStoreMetrics(registry prometheus.Registerer) *StoreMetrics {
	m := &StoreMetrics{calls: NewCalls(registry, CallOptions{
		Name: "store", Duration: "tend_store_request_duration_seconds", Errors: "tend_store_request_errors_total",
		Buckets:    prometheus.ExponentialBuckets(0.0005, 3, 10), // 0.5 ms to 9.8 s
		Operations: []string{"get", "list", "commit", "grant", "keepalive", "revoke", "compact"},
		Failures:   map[string][]string{"commit": {"conflict", "unknown_outcome", "no_space", "canceled", "other"}},
	})}
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tend_view_lag_seconds", Help: "How long a commit of this server has been missing in its view; 0 if the view has all.",
		}, func() float64 { return m.lag().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tend_view_revision", Help: "The newest revision of the store in the view.",
		}, func() float64 {
			if m.view.Load() == nil {
				return 0
			}
			return float64(m.seen())
		}),
	)
	return m
}

// Follow measures how far a view lags behind this process's own commits. revision returns the view's newest revision.
func (m *StoreMetrics) Follow(revision func() int64) { m.view.Store(&revision) }

// seen returns the newest revision in the view, or the greatest revision if there is no view.
func (m *StoreMetrics) seen() int64 {
	if revision := m.view.Load(); revision != nil {
		return (*revision)()
	}
	return math.MaxInt64
}

// commit records a successful commit.
func (m *StoreMetrics) commit(revision int64) {
	latest := &committed{revision, time.Now()}
	for {
		before := m.newest.Load()
		if before != nil && before.revision >= revision {
			return
		}
		if m.newest.CompareAndSwap(before, latest) {
			break
		}
	}
	if waiting := m.waiting.Load(); waiting == nil || waiting.revision <= m.seen() {
		m.waiting.CompareAndSwap(waiting, latest)
	}
}

// lag returns how long the view has lacked a commit. It is exact for a single commit. During a steady stream of commits
// it is a lower bound.
func (m *StoreMetrics) lag() time.Duration {
	for _, commit := range []*committed{m.waiting.Load(), m.newest.Load()} {
		if commit != nil && commit.revision > m.seen() {
			return time.Since(commit.at)
		}
	}
	return 0
}

func (m *StoreMetrics) measure(ctx context.Context, operation string, call func(context.Context) error) error {
	began := time.Now()
	err := call(ctx)
	m.calls.Observe(operation, began, storeFailure(err))
	return err
}

// Store returns a store that measures its calls. It returns inner itself if metrics is nil.
func Store(inner store.Store, metrics *StoreMetrics) store.Store {
	if metrics == nil {
		return inner
	}
	return &measuredStore{store.Around(inner, metrics.measure), metrics}
}

// measuredStore measures calls that return one answer, so not watches.
type measuredStore struct {
	store.Store
	metrics *StoreMetrics
}

// Commit makes the commit a step of its trace, and records its revision.
func (s *measuredStore) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	ctx, end := tracing.Step(ctx, "store.commit "+txn.Site)
	revision, err := s.Store.Commit(ctx, txn)
	end(err)
	if err == nil {
		s.metrics.commit(revision)
	}
	return revision, err
}

// storeFailure returns the label of an error's kind; empty for none. A missing key is an answer and doesn't count as a
// failure.
func storeFailure(err error) string {
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound):
		return ""
	case errors.Is(err, store.ErrConflict):
		return "conflict"
	case errors.Is(err, store.ErrUnknownOutcome):
		return "unknown_outcome"
	case errors.Is(err, store.ErrNoSpace), errors.Is(err, store.ErrQuota):
		return "no_space"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "other"
}
