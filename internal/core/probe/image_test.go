package probe_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		"neither":            {nil, nil, api.Probes{}, false},
		"the image's alone":  {nil, &probe.Image{Command: command}, api.Probes{Readiness: derived("30s", "30s", 0)}, true},
		"with its own times": {nil, &probe.Image{Command: command, Interval: time.Second, Timeout: 2 * time.Second, Retries: 5}, api.Probes{Readiness: derived("1s", "2s", 5)}, true},
		"beside a liveness":  {&api.Probes{Liveness: own}, &probe.Image{Command: command}, api.Probes{Liveness: own, Readiness: derived("30s", "30s", 0)}, true},
		"a declared one":     {&api.Probes{Readiness: own}, &probe.Image{Command: command}, api.Probes{Readiness: own}, false},
		"switched off":       {&api.Probes{}, &probe.Image{Command: command}, api.Probes{}, false},
		"declared, no image": {&api.Probes{Startup: own}, nil, api.Probes{Startup: own}, false},
	} {
		got, is := probe.WithImage(tc.declared, tc.image)
		if diff := cmp.Diff(tc.want, got); diff != "" || is != tc.derived {
			t.Errorf("%s: derived %v\n%s", name, is, diff)
		}
	}
}
