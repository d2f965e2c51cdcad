package probe_test

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

// TestDefaults: every 10 s with 1 s to answer, unhealthy after three failures, healthy after one pass.
func TestDefaults(t *testing.T) {
	m := probe.New(probe.Options{Probes: api.Probes{Liveness: &api.Probe{}}, StartedAt: start})
	var asked []time.Duration
	for now := start; now.Before(start.Add(time.Minute)) &&
		m.Status()["liveness"].Phase != api.ProbeUnhealthy; now = now.Add(10 * time.Millisecond) {
		for _, ask := range m.Due(now) {
			if ask.Timeout != time.Second {
				t.Errorf("a timeout of %s", ask.Timeout)
			}
			asked = append(asked, now.Sub(start))
			m.Answer(ask.Kind, probe.Result{Message: "no"}, now)
		}
	}
	if n := len(asked); n != 4 || asked[0] != 0 || asked[3]-asked[2] != 10*time.Second {
		t.Errorf("asked at %v until it was unhealthy, want at once, early, and twice each 10 s after", asked)
	}
	now := start.Add(2 * time.Minute)
	for _, ask := range m.Due(now) {
		m.Answer(ask.Kind, probe.Result{Pass: true}, now)
	}
	if status := m.Status()["liveness"]; status.Phase != api.ProbeHealthy || status.Message != "" {
		t.Errorf("after one pass: %+v", status)
	}
}

// TestMessageOfWhatGoesOnFailing: the message may differ each time; each change would be a write.
func TestMessageOfWhatGoesOnFailing(t *testing.T) {
	m := probe.New(probe.Options{Probes: api.Probes{Readiness: &api.Probe{Period: "1s", FailureThreshold: 1}},
		StartedAt: start})
	changes := 0
	for second := range 600 {
		now := start.Add(time.Duration(second) * time.Second)
		for _, ask := range m.Due(now) {
			if m.Answer(ask.Kind, probe.Result{Message: now.String()}, now) {
				changes++
			}
		}
	}
	if changes > 21+6 {
		t.Errorf("%d changes in ten minutes of failures, want one each 30 s, and one at 1, 3, 10, 30, 100 and 300 failures",
			changes)
	}
}

// TestStillStarting: what a probe answers before it has passed or failed is that of a container that still starts.
func TestStillStarting(t *testing.T) {
	for _, kind := range []probe.Kind{probe.Startup, probe.Readiness} {
		name := string(kind)
		for want, status := range map[string]api.ProbeStatus{
			"the " + name + " probe has not passed yet":       {Phase: api.ProbeUnknown},
			"still starting; " + name + ": refused":           {Phase: api.ProbeUnknown, Message: "refused", Failures: 1},
			"still starting; " + name + ": refused (2 times)": {Phase: api.ProbeUnknown, Message: "refused", Failures: 2},
			name + ": refused (3 times)":                      {Phase: api.ProbeUnhealthy, Message: "refused", Failures: 3},
		} {
			if got := probe.Judge(map[string]api.ProbeStatus{name: status}).Message; got != want {
				t.Errorf("%+v: %q, want %q", status, got, want)
			}
		}
	}
}
