package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEffectiveProbes(t *testing.T) {
	derived := func(port int) *Probe { return &Probe{HTTPGet: &HTTPGet{Path: "/up", Port: port}} }
	own := &Probe{TCPSocket: &TCPSocket{Port: 1}}
	for name, tc := range map[string]struct {
		spec DeploymentSpec
		want *Probes
	}{
		"nothing": {DeploymentSpec{}, nil},
		"a path": {DeploymentSpec{HealthCheck: "/up", Ports: []string{"127.0.0.1:8000:80"}},
			&Probes{Readiness: derived(80)}},
		"the first TCP port": {DeploymentSpec{HealthCheck: "/up", Ports: []string{"53/udp", "81"}},
			&Probes{Readiness: derived(81)}},
		"no port to ask at": {DeploymentSpec{HealthCheck: "/up", Ports: []string{"53/udp"}}, nil},
		"no network": {DeploymentSpec{HealthCheck: "/up", Ports: []string{"80"},
			Container: Container{NetworkMode: "none"}}, nil},
		"a shell command":         {DeploymentSpec{HealthCheck: "pg_isready", Ports: []string{"80"}}, nil},
		"a shell command by path": {DeploymentSpec{HealthCheck: "/bin/check -U me", Ports: []string{"80"}}, nil},
		"beside other probes": {DeploymentSpec{HealthCheck: "/up", Ports: []string{"80"},
			Probes: &Probes{Liveness: own, Startup: own}}, &Probes{Liveness: own, Startup: own, Readiness: derived(80)}},
		"a readiness probe declared": {DeploymentSpec{HealthCheck: "/up", Ports: []string{"80"},
			Probes: &Probes{Readiness: own}}, &Probes{Readiness: own}},
	} {
		before := tc.spec.Probes
		if diff := cmp.Diff(tc.want, tc.spec.EffectiveProbes()); diff != "" || tc.spec.Probes != before {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
