//go:build integration

package e2e

import (
	"testing"

	"tend.dev/tend/api"
)

// TestReadyOnceIsGivenUp: a pod was ready within monitor, isn't any more, and runs on. Its rollout ends at the
// deadline.
func TestReadyOnceIsGivenUp(t *testing.T) {
	m := newMachine(t).start()
	monitor, deadline := "5m", "10m"
	version := func(name string) api.Object {
		return m.manifest("app", runs(name), func(s *api.DeploymentSpec) {
			check := api.ExecProbe{Command: []string{"/server", "check", healthz}}
			s.Probes = &api.Probes{Readiness: &api.Probe{Exec: &check, Period: "1s", Timeout: "10s", FailureThreshold: 1}}
			s.Strategy.Monitor, s.Strategy.Deadline = api.Duration(monitor), api.Duration(deadline)
		})
	}
	m.deploy(m.manifest("app"))
	if _, err := m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{version("v2")}}); err != nil {
		t.Fatal(err)
	}
	pod := func(ready bool) (name string, is bool) {
		for _, p := range m.pods("app") {
			if p.Release == "v2" && p.Ready == ready {
				return p.Name, true
			}
		}
		return "", false
	}
	m.until("the new pod is ready", func() bool { _, is := pod(true); return is })
	name, _ := pod(true)
	m.engine("exec", name, "/server", "check", "http://127.0.0.1:8080/health?code=500").must()
	m.until("it isn't any more", func() bool { _, is := pod(false); return is })
	monitor, deadline = "1s", "2s" // for decisions from now on
	file := m.file("once.json", string(mustJSON(t, version("v2"))))
	m.wantSaid(m.tend("apply", "-f", file), 2, "it was ready, and then not for 2s (strategy.deadline)")
	if pods := m.pods("app"); len(pods) != 2 || pods[0].Ready == pods[1].Ready {
		t.Errorf("the good version doesn't serve alone: %+v", pods)
	}
}
