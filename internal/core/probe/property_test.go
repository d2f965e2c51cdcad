package probe_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

func drawProbe(t *rapid.T, label string) *api.Probe {
	if !rapid.Bool().Draw(t, label) {
		return nil
	}
	seconds := func(least int, name string) api.Duration {
		return api.Duration((time.Duration(rapid.IntRange(least, 20).Draw(t, label+" "+name)) * time.Second).String())
	}
	return &api.Probe{
		InitialDelay: seconds(0, "delay"), Period: seconds(1, "period"),
		FailureThreshold: rapid.IntRange(0, 4).Draw(t, label+" fails"),
		SuccessThreshold: rapid.IntRange(0, 3).Draw(t, label+" passes"),
	}
}

// dumb keeps every answer and counts again each time.
type dumb struct {
	fails, passes int
	delay, period time.Duration
	history       []verdict
	asks          []time.Time
	counted       time.Time // the last attempt that passed, or counted as a failure
	phase         api.ProbePhase
	eager         bool // it is asked at short intervals until it has passed
	after         int  // attempts since
}

type verdict int

const (
	passed verdict = iota
	failed
	early // a failure that came too early to count
)

func newDumb(kind probe.Kind, p *api.Probe) *dumb {
	d := &dumb{fails: p.FailureThreshold, passes: p.SuccessThreshold, phase: api.ProbeUnknown,
		eager: kind != probe.Liveness}
	d.delay, d.period = p.InitialDelay.Or(0), p.Period.Or(0)
	if d.fails == 0 {
		d.fails = 3
	}
	if d.passes == 0 {
		d.passes = 1
	}
	return d
}

// streak returns how many of the last answers are of a kind, apart from early failures.
func (d *dumb) streak(of verdict) (n int) {
	for _, answer := range slices.Backward(d.history) {
		switch {
		case answer == of:
			n++
		case answer == early:
		default:
			return n
		}
	}
	return n
}

func (d *dumb) take(pass bool) {
	at := d.asks[len(d.asks)-1]
	answer := passed
	switch {
	case pass:
		d.counted, d.eager = at, false
	case len(d.asks) > 1 && at.Sub(d.counted) < d.period:
		answer = early
	default:
		answer, d.counted = failed, at
	}
	d.history = append(d.history, answer)
	if d.streak(passed) >= d.passes {
		d.phase = api.ProbeHealthy
	} else if d.streak(failed) >= d.fails {
		d.phase = api.ProbeUnhealthy
	}
}

// checkRhythm checks the time of the newest attempt.
func (d *dumb) checkRhythm(t *rapid.T) {
	n := len(d.asks)
	if n == 1 {
		if d.asks[0].Before(start.Add(d.delay)) {
			t.Fatal("asked before its initial delay")
		}
		return
	}
	gap := d.asks[n-1].Sub(d.asks[n-2])
	if d.eager {
		if gap <= 0 || gap > d.period {
			t.Fatalf("asked %s after the last, before its first pass; the period is %s", gap, d.period)
		}
		return
	}
	if d.after++; d.after > 1 && gap != d.period {
		t.Fatalf("asked %s after the last, the period is %s", gap, d.period)
	}
}

func TestMachineAgreesWithACount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		probes := api.Probes{Startup: drawProbe(t, "startup"), Liveness: drawProbe(t, "liveness"),
			Readiness: drawProbe(t, "readiness")}
		counts := map[probe.Kind]*dumb{}
		for kind, p := range map[probe.Kind]*api.Probe{
			probe.Startup: probes.Startup, probe.Liveness: probes.Liveness, probe.Readiness: probes.Readiness,
		} {
			if p != nil {
				counts[kind] = newDumb(kind, p)
			}
		}
		m := probe.New(probe.Options{
			Probes: probes, Status: probe.Carry(&probes, nil, false, start), StartedAt: start,
			Spread: func() float64 { return rapid.Float64Range(0, 0.99).Draw(t, "spread") },
		})
		before := m.Status()
		for now, asks := start, 0; asks < 60; asks++ {
			next, ok := m.Next(now)
			if !ok {
				if len(counts) > 0 && !(len(counts) == 1 && counts[probe.Startup] != nil) {
					t.Fatal("no probe is asked any more")
				}
				return
			}
			if next.After(now) {
				now = next
			}
			due := m.Due(now)
			if len(due) == 0 {
				t.Fatalf("nothing is due at %s, when something should be", next)
			}
			for _, ask := range due {
				counts[ask.Kind].asks = append(counts[ask.Kind].asks, now)
				before = answer(t, m, ask.Kind, counts, before, now)
			}
		}
	})
}

func answer(t *rapid.T, m *probe.Machine, kind probe.Kind, counts map[probe.Kind]*dumb,
	before map[string]api.ProbeStatus, now time.Time) map[string]api.ProbeStatus {
	count := counts[kind]
	startup := counts[probe.Startup]
	if masked := startup != nil && startup.phase != api.ProbeHealthy; masked != (kind == probe.Startup) && startup != nil {
		t.Fatalf("%s is asked although startup is %s", kind, startup.phase)
	}
	count.checkRhythm(t)
	pass := rapid.IntRange(0, 2).Draw(t, "answer") > 0
	count.take(pass)
	changed := m.Answer(kind, probe.Result{Pass: pass, Message: "no"}, now)
	after := m.Status()
	is, was := after[string(kind)], before[string(kind)]
	if is.Phase != count.phase {
		t.Fatalf("%s is %s, counting says %s after %v", kind, is.Phase, count.phase, count.history)
	}
	if is.Transition-was.Transition != map[bool]int{true: 1}[is.Phase != was.Phase] {
		t.Fatalf("from %+v to %+v", was, is)
	}
	if !changed && is != was {
		t.Fatalf("%+v became %+v and nothing was said", was, is)
	}
	if is.Phase == api.ProbeUnhealthy && was.Phase == api.ProbeUnknown {
		if lasted := now.Sub(count.asks[0]); lasted < time.Duration(count.fails-1)*count.period {
			t.Fatalf("given up after %s, %d failures take %s", lasted, count.fails, time.Duration(count.fails-1)*count.period)
		}
	}
	return after
}

// TestCarry: a new incarnation changes only phases, counts each change once, and Carry is idempotent.
func TestCarry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		probes := api.Probes{Startup: drawProbe(t, "startup"), Liveness: drawProbe(t, "liveness"),
			Readiness: drawProbe(t, "readiness")}
		last := map[string]api.ProbeStatus{}
		for _, kind := range []string{"startup", "liveness", "readiness"} {
			if rapid.Bool().Draw(t, kind+" known") {
				phase := rapid.SampledFrom([]api.ProbePhase{api.ProbeUnknown, api.ProbeHealthy, api.ProbeUnhealthy}).Draw(t,
					"phase")
				last[kind] = api.ProbeStatus{Phase: phase, Since: start,
					Transition: rapid.IntRange(0, 5).Draw(t, "transition"), Message: "m"}
			}
		}
		next := probe.Carry(&probes, last, false, start.Add(time.Hour))
		for kind, status := range next {
			was, known := last[kind]
			changed := known && was.Phase != api.ProbeUnknown
			if status.Phase != api.ProbeUnknown || status.Transition != was.Transition+map[bool]int{true: 1}[changed] {
				t.Fatalf("%+v became %+v", was, status)
			}
			if changed && status.Before != was.Phase {
				t.Fatalf("%s before, and %q is remembered", was.Phase, status.Before)
			}
		}
		again := probe.Carry(&probes, next, true, start.Add(2*time.Hour))
		for kind, status := range next {
			if again[kind] != status {
				t.Fatalf("carried twice: %+v, then %+v", status, again[kind])
			}
		}
		if len(again) != len(next) {
			t.Fatal("carrying within an incarnation adds or drops a probe")
		}
	})
}
