package probe_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

func TestWithImage(t *testing.T) {
	own := &api.Probe{TCPSocket: &api.TCPSocket{Port: 80}}
	command := []string{"/check", "-q"}
	derived := func(period, timeout api.Duration, retries int) *api.Probe {
		return &api.Probe{Exec: &api.ExecProbe{Command: command}, Period: period, Timeout: timeout, FailureThreshold: retries}
	}
	for name, tc := range map[string]struct {
		declared *api.Probes
		image    *probe.Image
		want     api.Probes
		derived  bool
	}{
		"neither":           {nil, nil, api.Probes{}, false},
		"the image's alone": {nil, &probe.Image{Command: command}, api.Probes{Readiness: derived("30s", "30s", 0)}, true},
		"with its own times": {nil, &probe.Image{Command: command, Interval: time.Second, Timeout: 2 * time.Second,
			Retries: 5}, api.Probes{Readiness: derived("1s", "2s", 5)}, true},
		"out of bounds, low": {nil, &probe.Image{Command: command, Interval: 1, Timeout: 1, Retries: -1},
			api.Probes{Readiness: derived("100ms", "1ms", 0)}, true},
		"out of bounds, high": {nil, &probe.Image{Command: command, Interval: 1e6 * time.Hour,
			Timeout: time.Hour, Retries: 1 << 40},
			api.Probes{Readiness: derived("24h0m0s", "30s", 1000)}, true},
		"beside a liveness": {&api.Probes{Liveness: own}, &probe.Image{Command: command},
			api.Probes{Liveness: own, Readiness: derived("30s", "30s", 0)}, true},
		"a declared one": {&api.Probes{Readiness: own}, &probe.Image{Command: command},
			api.Probes{Readiness: own}, false},
		"switched off":       {&api.Probes{}, &probe.Image{Command: command}, api.Probes{}, false},
		"declared, no image": {&api.Probes{Startup: own}, nil, api.Probes{Startup: own}, false},
	} {
		got, is := probe.WithImage(tc.declared, tc.image)
		if diff := cmp.Diff(tc.want, got); diff != "" || is != tc.derived {
			t.Errorf("%s: derived %v\n%s", name, is, diff)
		}
	}
}

// TestAnImagesTimesAreValid: whatever an image says, its probe is one that a manifest may declare.
func TestAnImagesTimesAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) time.Duration { return time.Duration(rapid.Int64().Draw(t, name)) }
		image := &probe.Image{
			Command: []string{"/check"}, Interval: draw("interval"), Timeout: draw("timeout"), StartPeriod: draw("start"),
			Retries: int(draw("retries")),
		}
		probes, _ := probe.WithImage(nil, image)
		probes.Readiness.InitialDelay = api.Duration(image.Grace().String()) // which has the same bounds
		spec, err := json.Marshal(map[string]any{"image": "a", "probes": probes})
		if err != nil {
			t.Fatal(err)
		}
		if found := api.ValidateObject(api.Object{Kind: api.KindDeployment, Scope: "s", Name: "a",
			Spec: spec}); len(found) > 0 {
			t.Fatalf("%+v: %v", image, found)
		}
		if limit := probes.Readiness.Timeout.Or(0); limit > 30*time.Second {
			t.Fatalf("it may take %s", limit)
		}
	})
}
