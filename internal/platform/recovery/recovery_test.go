package recovery

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// hear returns the log from now on, until the test ends.
func hear(t *testing.T) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &out
}

// worker has a method whose panics are named by it.
type worker struct{ held map[string]int }

func (w worker) fail() error { panic("bad object") }

func (w worker) write() error { w.held["a"] = 1; return nil }

func TestCall(t *testing.T) {
	out := hear(t)
	fault := errors.New("an ordinary error")
	if err := Call(func() error { return fault }); !errors.Is(err, fault) {
		t.Errorf("an error came back as %v", err)
	}
	before := testutil.ToFloat64(panics)
	var panicked *PanicError
	if err := Call(worker{}.fail, "object", "deployment/a/b"); !errors.As(err, &panicked) ||
		panicked.Value != "bad object" {
		t.Fatalf("a panic came back as %v", err)
	}
	if panicked.Place != "internal/platform/recovery.worker.fail" {
		t.Errorf("it happened in %s", panicked.Place)
	}
	for _, want := range []string{"level=ERROR", "object=deployment/a/b", `panic="bad object"`,
		"place=internal/platform/recovery.worker.fail", "recovery_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, out)
		}
	}
	if got := testutil.ToFloat64(panics) - before; got != 1 {
		t.Errorf("one panic counts as %v", got)
	}
	if err := Call(func() error { panic(fault) }); !errors.As(err, &panicked) ||
		panicked.Place != "internal/platform/recovery.TestCall" {
		t.Errorf("a literal is named %v", err)
	}
	if err := Call(worker{}.write); !errors.As(err, &panicked) || panicked.Place != "internal/platform/recovery.worker.write" {
		t.Errorf("a fault of the runtime is named %v", err)
	}
	if err := Call(func() error { regexp.MustCompile(strings.Repeat("[", 1)); return nil }); !errors.As(err, &panicked) ||
		panicked.Place != "internal/platform/recovery.TestCall" {
		t.Errorf("the caller of a library is named %v", err)
	}
}

// TestTheLogIsNotFlooded: a pass that meets the same bad object every ten seconds counts it each time.
func TestTheLogIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := hear(t)
		counted := testutil.ToFloat64(panics)
		for range 12 { // two minutes of passes
			for _, object := range []string{"deployment/a/b", "deployment/a/c"} {
				_ = Call(func() error { panic("flood") }, "object", object)
			}
			time.Sleep(10 * time.Second)
		}
		if got := strings.Count(out.String(), "panic=flood"); got != 4 {
			t.Errorf("two objects were logged %d times in two minutes, want twice each", got)
		}
		if got := testutil.ToFloat64(panics) - counted; got != 24 {
			t.Errorf("24 panics count as %v", got)
		}
	})
}

func TestGroupOutlivesAPanic(t *testing.T) {
	hear(t)
	var g Group
	done := make(chan struct{})
	g.Go(func() { panic("one") })
	g.Go(func() { close(done) })
	Go(func() { panic("two") })
	g.Wait()
	<-done
}

func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hear(t)
		began, runs := time.Now(), []time.Duration(nil)
		fault := errors.New("over")
		err := Keep(t.Context(), func(context.Context) error {
			if runs = append(runs, time.Since(began)); len(runs) < 8 {
				panic("again")
			}
			return fault
		})
		if !errors.Is(err, fault) {
			t.Errorf("it ended with %v", err)
		}
		if want := []time.Duration{0, 1, 3, 7, 15, 31, 61, 91}; len(runs) != len(want) || runs[7] != 91*time.Second {
			t.Errorf("it ran at %v, want at %v s", runs, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Keep(ctx, func(context.Context) error { panic("for ever") }) }()
		time.Sleep(time.Hour)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("one that was ended returns %v", err)
		}
	})
}

func TestMetricCanBeRegisteredTwice(t *testing.T) {
	for range 2 { // a process may run several servers, in tests
		registry := prometheus.NewRegistry()
		registry.MustRegister(Metric())
	}
}
