//go:build integration

package e2e

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
)

// watched is how long a slot has to run to count as healthy. A program that ends at once may take a second for that on a busy
// machine.
func watched(long api.Duration) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Strategy.Monitor = long }
}

// broken makes every container print three lines and end.
func broken(s *api.DeploymentSpec) {
	runs("v2")(s)
	watched("3s")(s)
	s.Env = map[string]string{"LINES": "3", "EXIT_AFTER": "1ms", "EXIT_CODE": "7"}
}

// TestAutomaticRollback: what ends at once is turned back, and the command says so with the container's last words.
func TestAutomaticRollback(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3), onFailure(api.OnFailureRollback)))
	bad := m.file("bad.json", string(mustJSON(t, m.manifest("app", replicas(3), broken, onFailure(api.OnFailureRollback)))))
	m.wantSaid(m.tend("apply", "-f", bad), 2, "back on v1", "exit code 7", "line 3")
	m.exactly("app", 3, "v1")
	status := m.status("app")
	if status.Rollout.Phase != api.RolloutRolledBack || status.Rollout.Failed.Release != "v2" || status.Release != "v1" {
		t.Errorf("rollout %+v", status.Rollout)
	}
	// The corrected manifest is taken as any other.
	m.deploy(m.manifest("app", replicas(3), runs("v3"), onFailure(api.OnFailureRollback)))
	m.exactly("app", 3, "v3")
}

// TestFailurePausesAndIsSuperseded: one slot was tried, the others serve on, and a newer manifest goes past it.
func TestFailurePausesAndIsSuperseded(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3)))
	before := m.containers("app")
	patient := func(s *api.DeploymentSpec) { s.Strategy.Pause = "10m" }
	m.apply(m.manifest("app", replicas(3), broken, patient))
	m.degraded("app", "CrashLoop", "line 3")
	m.until("the rollout is paused", func() bool { return m.status("app").Rollout.Phase == api.RolloutPaused })
	now := m.containers("app")
	if touched := slices.DeleteFunc(before, func(id string) bool { return slices.Contains(now, id) }); len(touched) > 1 {
		t.Errorf("%d slots were touched, want one: %v", len(touched), now)
	}
	m.deploy(m.manifest("app", replicas(3), runs("v3")))
	m.exactly("app", 3, "v3")
}

// TestFailureContinues: with on_failure = continue, the rollout replaces every slot; the correction still converges.
func TestFailureContinues(t *testing.T) {
	m := newMachine(t).start()
	careless := func(s *api.DeploymentSpec) {
		s.Strategy.Order, s.Strategy.OnFailure = api.OrderStopFirst, api.OnFailureContinue
	}
	m.deploy(m.manifest("app", replicas(3), careless))
	old := m.pods("app")
	m.apply(m.manifest("app", replicas(3), broken, careless))
	m.until("no slot of v1 is left", func() bool {
		return !slices.ContainsFunc(m.pods("app"), func(p api.Pod) bool {
			return slices.ContainsFunc(old, func(o api.Pod) bool { return o.Name == p.Name })
		})
	})
	m.degraded("app", "CrashLoop")
	m.deploy(m.manifest("app", replicas(3), runs("v3"), careless))
	m.exactly("app", 3, "v3")
}

// TestNewerApplySupersedes: two applies back to back are one rollout, to the newer.
func TestNewerApplySupersedes(t *testing.T) {
	m := newMachine(t).start()
	slow := func(s *api.DeploymentSpec) { s.Strategy.Pause = "10m" }
	m.deploy(m.manifest("app", replicas(4)))
	h := m.follow()
	m.apply(m.manifest("app", replicas(4), runs("v2"), slow))
	m.until("the first slot turns to v2", func() bool { return h.starts("app", "v2") > 0 })
	m.deploy(m.manifest("app", replicas(4), runs("v3")))
	m.exactly("app", 4, "v3")
	h.caughtUp()
	if n := h.starts("app", "v2"); n != 1 {
		t.Errorf("%d containers of v2 were started, want the one from before v3", n)
	}
}
