//go:build integration && long

package e2e

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// TestLivenessReplacesInTheEnd: a pod is restarted in place three times; if that doesn't help, it fails and is
// replaced.
func TestLivenessReplacesInTheEnd(t *testing.T) {
	m := newMachine(t).start()
	dead := &api.Probe{Exec: &api.ExecProbe{Command: []string{testimage.Program, "cat", "/missing"}},
		Period: "200ms", FailureThreshold: 1}
	m.apply(m.manifest("app", asked(func(p *api.Probes) { p.Liveness = dead })))
	var pod api.Pod
	m.until("a pod runs", func() bool {
		pods := m.pods("app")
		if len(pods) == 1 {
			pod = pods[0]
		}
		return pod.Container != ""
	})
	for restarts := 1; restarts <= 3; restarts++ {
		m.until("the container is restarted in place", func() bool {
			now, err := m.client.Pod(m.Context(), pod.Name)
			return err == nil && len(now.LivenessRestarts) == restarts && now.Incarnations == restarts+1 &&
				now.Container == pod.Container
		})
	}
	m.until("it fails, and another pod takes its place", func() bool {
		now, err := m.client.Pod(m.Context(), pod.Name)
		pods := m.pods("app")
		return err == nil && now.State == api.TaskFailed && now.Reason == "LivenessFailed" && len(pods) == 1 &&
			pods[0].Name != pod.Name
	})
}
