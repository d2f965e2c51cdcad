package autoscaler

import (
	"context"
	"log/slog"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/store/records"
)

// direct returns an autoscaler whose steps a test takes by itself, and what they observe.
func (l *harness) direct(scale func(context.Context, Deployment, int) error) (*autoscaler, control.Observation) {
	a := &autoscaler{logger: slog.New(slog.DiscardHandler), Options: Options{
		Interval: DefaultInterval, Holder: func(api.Object) string { return "" }, Scale: scale,
	}}
	return a, control.Observation{Snapshot: l.snapshot(), Ref: Ref(web), Now: l.now}
}

// wants takes a step with the answer of a call, which the next observation remembers, and returns its only call.
func (l *harness) wants(a *autoscaler, o *control.Observation, name string, answer any) control.Call {
	l.t.Helper()
	o.Answers = map[string]calls.Answer{name: {Value: answer}}
	step, err := a.step(*o)
	if err != nil {
		l.t.Fatal(err)
	}
	o.Memo = step.Memo
	if len(step.Calls) != 1 {
		return control.Call{}
	}
	return step.Calls[0]
}

var busy = []Sample{{CPUPercent: 90, Known: true}, {CPUPercent: 90, Known: true}}

// TestAChangeIsWantedUntilItsAnswer: the status has noted it, so it must not be lost if the call can't begin at once.
func TestAChangeIsWantedUntilItsAnswer(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.deploy(2, bounds)
		a, o := l.direct(nil)
		load := l.wants(a, &o, "", nil)
		scale := l.wants(a, &o, load.Name, busy)
		asked, _ := scale.Request.(change)
		if again := l.wants(a, &o, "", nil); asked.to != 3 || asked.of != (Deployment{web, "uid"}) ||
			again.Name != scale.Name || again.Request != asked {
			t.Errorf("the step wants %+v, and the next one %+v", scale, again)
		}
		if more := l.wants(a, &o, scale.Name, scaled{change: asked}); more.Name != "" {
			t.Errorf("after the answer it wants %+v", more)
		}
	})
}

// TestAnAnswerIsOfOneDeployment: the next one of the name is not scaled by the load of the one before.
func TestAnAnswerIsOfOneDeployment(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.deploy(2, bounds)
		a, o := l.direct(nil)
		load := l.wants(a, &o, "", nil)
		if _, err := records.NewTxn("test").Delete(records.ObjectKey(web)).Commit(l.t.Context(), l); err != nil {
			t.Fatal(err)
		}
		l.deploy(2, bounds)
		o.Snapshot = l.snapshot()
		next := l.wants(a, &o, load.Name, busy)
		if _, measures := next.Request.([]string); !measures || next.Name == load.Name {
			t.Errorf("the next deployment wants %+v", next)
		}
	})
}

// TestAScaleThatPanicsHasAnAnswer: it isn't known what it did, so its cooldown runs, and no further one is wanted.
func TestAScaleThatPanicsHasAnAnswer(t *testing.T) {
	inHarness(t, func(l *harness) {
		before := slog.Default()
		slog.SetDefault(slog.New(slog.DiscardHandler))
		defer slog.SetDefault(before)
		l.deploy(2, bounds)
		a, o := l.direct(func(context.Context, Deployment, int) error { panic("no scale") })
		load := l.wants(a, &o, "", nil)
		scale := l.wants(a, &o, load.Name, busy)
		answer := a.call(l.t.Context(), records.Read[api.Object]{}, scale)
		if more := l.wants(a, &o, scale.Name, answer); more.Name != "" {
			t.Errorf("after the panic it wants %+v", more)
		}
	})
}
