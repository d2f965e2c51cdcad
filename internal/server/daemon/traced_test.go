package daemon

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/observe/tracing"
)

// path returns the names of the spans from a root to a span, which all must be of one trace.
func path(t *testing.T, span sdktrace.ReadOnlySpan, all []sdktrace.ReadOnlySpan) string {
	t.Helper()
	names := []string{span.Name()}
	for at := span; at.Parent().IsValid(); {
		i := slices.IndexFunc(all,
			func(s sdktrace.ReadOnlySpan) bool { return s.SpanContext().SpanID() == at.Parent().SpanID() })
		if i < 0 {
			t.Errorf("%s: its parent was not exported", span.Name())
			break
		}
		if all[i].SpanContext().TraceID() != at.SpanContext().TraceID() {
			t.Errorf("%s is of another trace than its parent %s", at.Name(), all[i].Name())
		}
		at = all[i]
		names = append([]string{at.Name()}, names...)
	}
	return strings.Join(names, " > ")
}

// An apply is one trace: from the request through the commits and reconciles to the container. Its deletion is another
// one.
func TestOneTraceLeadsFromTheRequestToTheContainer(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.startWith(func(o *Options) { o.Tracer = tracing.New(recorder, tracing.Options{Service: "test"}) }).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))

	// A request's span ends after its answer, and a reconcile's after what it did. Seen waits for them, and for two of
	// a name.
	seen := func(two string) map[string]int {
		var spans []sdktrace.ReadOnlySpan
		r.untilWithin(time.Minute, "the spans of "+two+" and every parent have ended", func() bool {
			spans = recorder.Ended()
			ended, found := map[trace.SpanID]bool{}, 0
			for _, span := range spans {
				ended[span.SpanContext().SpanID()] = true
				if span.Name() == two {
					found++
				}
			}
			orphan := func(s sdktrace.ReadOnlySpan) bool { return s.Parent().IsValid() && !ended[s.Parent().SpanID()] }
			return found >= 2 && !slices.ContainsFunc(spans, orphan)
		})
		out := map[string]int{}
		for _, span := range spans {
			out[path(t, span, spans)]++
		}
		return out
	}
	const release = "POST /v1/apply > reconcile deployment"
	got := seen("runtime.start")
	for want, times := range map[string]int{
		"POST /v1/apply":                               1,
		"POST /v1/apply > store.commit apply":          1,
		release + " > store.commit deployment.release": 1,
		release + " > reconcile task > runtime.create": 2,
		release + " > reconcile task > runtime.start":  2,
	} {
		// A commit that lost a race is repeated; an effect on a container is not.
		if got[want] < times || strings.Contains(want, "runtime.") && got[want] != times {
			t.Errorf("%d times %q, want %d; there are:\n  %s", got[want], want, times,
				strings.Join(slices.Sorted(maps.Keys(got)), "\n  "))
		}
	}

	if _, err := r.client.Delete(context.Background(), web); err != nil {
		t.Fatal(err)
	}
	r.until("the object is gone", func() bool {
		_, err := r.client.Object(context.Background(), web)
		return client.IsNotFound(err)
	})
	found := 0
	for at, times := range seen("runtime.stop") {
		if strings.HasPrefix(at, "DELETE /v1/objects/{kind}/{scope}/{name} > ") && strings.HasSuffix(at, " > runtime.stop") {
			found += times
		}
	}
	if found != 2 {
		t.Errorf("the deletion's trace stops %d containers, want 2", found)
	}
}

// Work without an effect has no span: neither reads and resyncs, nor events long after the change.
func TestWorkWithoutEffectHasNoSpan(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.startWith(func(o *Options) {
		o.Tracer, o.Resync = tracing.New(recorder, tracing.Options{Service: "test"}), 20*time.Millisecond
	}).ready()
	r.converged(web, r.apply(manifestOf(web, nil)))
	pass := func() float64 { return r.metric(`tend_reconciliation_cycles_total{kind="deployment"}`) }
	spans, since := len(recorder.Ended()), pass()
	r.until("ten resyncs leave no span", func() bool {
		if _, err := r.client.Objects(context.Background(), api.KindDeployment, client.ObjectFilter{}); err != nil {
			t.Fatal(err)
		}
		if n := len(recorder.Ended()); n != spans { // the rollout had something left to write
			spans, since = n, pass()
		}
		return pass() >= since+10
	})
}
