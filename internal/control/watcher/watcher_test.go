package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/goleak"

	"tend.dev/tend/internal/core/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is listed. Its status is a map, which a careless owner changes in place.
type thing struct {
	id, namespace string
	labels        map[string]string
	generation    int64
	deleting      bool
	status        map[string]string
}

func clone(t *thing) *thing {
	out := *t
	out.status = map[string]string{}
	for k, v := range t.status {
		out.status[k] = v
	}
	return &out
}

// world holds what is listed, and what the handlers heard.
type world struct {
	mu     sync.Mutex
	things []*thing
	err    error
	boom   bool
	lists  []time.Duration
	heard  []string
}

func (w *world) set(things ...*thing) { w.change(func() { w.things = things }) }

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// take returns what was heard since the last call.
func (w *world) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := strings.Join(w.heard, "; ")
	w.heard = nil
	return out
}

func (w *world) say(format string, args ...any) {
	w.change(func() { w.heard = append(w.heard, fmt.Sprintf(format, args...)) })
}

func (w *world) hear(_ context.Context, c watch.Change[*thing]) error {
	w.say("%s %s %d %v", c.Type, c.ID, c.Object.generation, c.Object.status)
	return nil
}

// inWorld runs a test with a watcher under a fake clock, stops it, and waits until it has ended.
func inWorld(t *testing.T, edit func(*Options[*thing]), test func(w *world, watcher *Watcher[*thing])) {
	synctest.Test(t, func(t *testing.T) {
		w, began := &world{}, time.Now()
		o := Options[*thing]{
			Name: "test", Clone: clone, Logger: slog.New(slog.DiscardHandler),
			List: func(context.Context, watch.Selector) ([]*thing, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.lists = append(w.lists, time.Since(began))
				if w.boom {
					panic("a bug of the source")
				}
				return slices.Clone(w.things), w.err
			},
			Facts: func(t *thing) watch.Facts {
				return watch.Facts{ID: t.id, Namespace: t.namespace, Labels: t.labels, Generation: t.generation,
					Deleting: t.deleting, Status: t.status}
			},
		}
		if edit != nil {
			edit(&o)
		}
		watcher := New(o)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		watcher.Handle("hear", w.hear)
		running.Go(func() {
			if err := watcher.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		test(w, watcher)
		cancel()
		running.Wait()
	})
}

// after lets time pass.
func after(d time.Duration) { time.Sleep(d); synctest.Wait() }

func wants(t *testing.T, w *world, when, want string) {
	t.Helper()
	if got := w.take(); got != want {
		t.Errorf("%s: heard %q, want %q", when, got, want)
	}
}

// Acceptance 1 to 3: each type once per change, one UPDATED for spec and status together, DELETED with the last object.
func TestEachChangeIsHeardOnce(t *testing.T) {
	inWorld(t, nil, func(w *world, _ *Watcher[*thing]) {
		a := &thing{id: "a", generation: 1, status: map[string]string{"phase": "new"}}
		for _, step := range []struct {
			what, want string
			do         func()
		}{
			{"created", "CREATED a 1 map[phase:new]", func() { w.set(a) }},
			{"unchanged", "", func() {}},
			{"status changed in place", "STATUS_UPDATED a 1 map[phase:up]",
				func() { w.change(func() { a.status["phase"] = "up" }) }},
			{"spec changed in place", "UPDATED a 2 map[phase:up]", func() { w.change(func() { a.generation = 2 }) }},
			{"both", "UPDATED a 3 map[phase:both]", func() {
				w.change(func() {
					a.generation, a.status["phase"] = 3,
						"both"
				})
			}},
			{"marked for deletion", "UPDATED a 3 map[phase:both]", func() { w.change(func() { a.deleting = true }) }},
			{"deleted", "DELETED a 3 map[phase:both]", func() { w.set() }},
			{"still gone", "", func() {}},
		} {
			step.do()
			after(DefaultInterval)
			wants(t, w, step.what, step.want)
		}
	})
}

// Acceptance 1: the interval, its default and its bounds.
func TestInterval(t *testing.T) {
	for name, tc := range map[string]struct {
		interval time.Duration
		want     string
	}{
		"default":   {0, "[0s 5s 10s]"},
		"set":       {7 * time.Second, "[0s 7s 14s]"},
		"too short": {time.Nanosecond, "[0s 100ms 200ms]"},
		"too long":  {1000 * time.Hour, "[0s 24h0m0s 48h0m0s]"},
	} {
		inWorld(t, func(o *Options[*thing]) { o.Interval = tc.interval }, func(w *world, watcher *Watcher[*thing]) {
			after(2 * watcher.options.Interval)
			if got := fmt.Sprint(w.lists); got != tc.want {
				t.Errorf("%s: listed at %s, want %s", name, got, tc.want)
			}
		})
	}
}

// Acceptance 4.
func TestSelectorFiltersTheListing(t *testing.T) {
	choose := func(o *Options[*thing]) {
		o.Selector = watch.Selector{Namespace: "prod", Labels: map[string]string{"app": "web"}}
	}
	inWorld(t, choose, func(w *world, watcher *Watcher[*thing]) {
		labels := map[string]string{"app": "web"}
		w.set(&thing{id: "a", namespace: "prod", labels: labels}, &thing{id: "b", namespace: "test", labels: labels},
			&thing{id: "c", namespace: "prod"})
		after(DefaultInterval)
		wants(t, w, "two don't match", "CREATED a 0 map[]")
		if n := len(watcher.cache); n != 1 {
			t.Errorf("%d cached, want 1", n)
		}
	})
}

// Acceptance 5 and 7: an error or a panic of one handler stops no other, and what publishes comes last.
func TestHandlersAreIsolated(t *testing.T) {
	inWorld(t, nil, func(w *world, watcher *Watcher[*thing]) {
		watcher.Handle("fails", func(context.Context, watch.Change[*thing]) error {
			w.say("fails")
			return errors.New(
				"no")
		})
		watcher.Handle("panics", func(_ context.Context, c watch.Change[*thing]) error {
			w.say("panics")
			c.Object.status["phase"] = "spoiled" // its own copy
			panic("a bug")
		})
		remove := watcher.Handle("publishes", func(_ context.Context, c watch.Change[*thing]) error {
			w.say("publishes %v", c.Object.status)
			return nil
		})
		w.set(&thing{id: "a", status: map[string]string{"phase": "up"}})
		after(DefaultInterval)
		wants(t, w, "one change", "CREATED a 0 map[phase:up]; fails; panics; publishes map[phase:up]")
		after(DefaultInterval)
		wants(t, w, "a failed handler doesn't make the change new", "")
		remove()
		w.set()
		after(DefaultInterval)
		wants(t, w, "one was removed", "DELETED a 0 map[phase:up]; fails; panics")
	})
}

// Acceptance 6: a listing that fails, panics or takes too long keeps the cache and the loop. With a backoff the polls
// get rarer, and are as before after a good one.
func TestAFailedListingKeepsTheCache(t *testing.T) {
	var polled []error
	edit := func(o *Options[*thing]) {
		o.Backoff, o.Polled = 30*time.Second, func(err error) { polled = append(polled, err) }
	}
	inWorld(t, edit, func(w *world, watcher *Watcher[*thing]) {
		w.set(&thing{id: "a"}, &thing{id: "b"})
		after(DefaultInterval)
		wants(t, w, "all is well", "CREATED a 0 map[]; CREATED b 0 map[]")
		w.change(func() { w.err, w.things, w.lists = errors.New("the disk is away"), nil, nil })
		after(5 * time.Second)
		w.change(func() { w.boom = true })
		after(100 * time.Second)
		wants(t, w, "no listing", "")
		if n := len(watcher.cache); n != 2 {
			t.Errorf("%d cached, want 2", n)
		}
		w.change(func() { w.err, w.boom, w.things = nil, false, []*thing{{id: "b"}} })
		after(35 * time.Second)
		wants(t, w, "only what is really gone", "DELETED a 0 map[]")
		if got := fmt.Sprint(w.lists); got != "[10s 15s 25s 45s 1m15s 1m45s 2m15s 2m20s 2m25s]" {
			t.Errorf("listed at %s", got)
		}
	})
	failed := 0
	for _, err := range polled {
		if err != nil {
			failed++
		}
	}
	if failed != 6 || len(polled) != 11 {
		t.Errorf("%d of %d polls failed: %v", failed, len(polled), polled)
	}
}

// Acceptance 24: stopping returns at once, also in the middle of a listing, and leaks nothing. See TestMain.
func TestStopIsPrompt(t *testing.T) {
	hang := func(o *Options[*thing]) {
		o.List = func(ctx context.Context, _ watch.Selector) ([]*thing, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		o.Polled = func(err error) { t.Errorf("a stopped poll counts: %v", err) }
	}
	began := time.Duration(0)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		o := Options[*thing]{Clone: clone, Logger: slog.New(slog.DiscardHandler)}
		hang(&o)
		w := New(o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		if err := w.Run(ctx); !errors.Is(err, ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		began = time.Since(start)
	})
	if began != 0 {
		t.Errorf("it took %s to stop", began)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	slow := func(o *Options[*thing]) {
		o.Metrics = metrics
		list := o.List
		o.List = func(ctx context.Context, s watch.Selector) ([]*thing, error) {
			time.Sleep(2 * time.Second) // of the fake clock
			return list(ctx, s)
		}
	}
	inWorld(t, slow, func(w *world, _ *Watcher[*thing]) {
		after(3 * time.Second) // nothing is there
		w.set(&thing{id: "a"}, &thing{id: "b"})
		after(14 * time.Second) // 2 created, then 2 unchanged
		w.set(&thing{id: "a", generation: 1})
		after(7 * time.Second) // 1 updated, 1 deleted
		w.change(func() { w.err = errors.New("no") })
		after(7 * time.Second)
	})
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`tend_watch_loop_iterations_total{watcher="test"} 5`,
		`tend_changes_detected_total{type="CREATED",watcher="test"} 2`,
		`tend_changes_detected_total{type="UPDATED",watcher="test"} 1`,
		`tend_changes_detected_total{type="DELETED",watcher="test"} 1`,
		`tend_cache_hit_ratio{watcher="test"} 0.3333333333333333`, // 2 of 6 compared
		`tend_watch_poll_duration_seconds_count{watcher="test"} 5`,
		`tend_average_poll_duration{watcher="test"} 2`, // 10 s in 5 polls
	} {
		if text := answer.Body.String(); !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %q:\n%s", line, text)
		}
	}
}

// TestMetricsBeginAtZero: those of a watcher are served before its first poll.
func TestMetricsBeginAtZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewMetrics(registry, "sync")
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`tend_watch_loop_iterations_total{watcher="sync"} 0`,
		`tend_changes_detected_total{type="CREATED",watcher="sync"} 0`,
		`tend_changes_detected_total{type="UPDATED",watcher="sync"} 0`,
		`tend_changes_detected_total{type="DELETED",watcher="sync"} 0`,
		`tend_changes_detected_total{type="STATUS_UPDATED",watcher="sync"} 0`,
		`tend_cache_hit_ratio{watcher="sync"} 0`,
		`tend_watch_poll_duration_seconds_count{watcher="sync"} 0`,
		`tend_average_poll_duration{watcher="sync"} 0`,
	} {
		if text := answer.Body.String(); !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %q:\n%s", line, text)
		}
	}
}
