//go:build integration

package e2e

import (
	"testing"

	"tend.dev/tend/api"
)

// watched is the time that a slot has to run to count as healthy. A program that ends at once may take a second for
// that on a busy machine.
func watched(long api.Duration) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Strategy.Monitor = long }
}

// broken makes every container print three lines and end.
func broken(s *api.DeploymentSpec) {
	runs("v2")(s)
	watched("3s")(s)
	s.Env = map[string]string{"LINES": "3", "EXIT_AFTER": "1ms", "EXIT_CODE": "7"}
}

// TestAutomaticRollback: a release whose program ends at once is rolled back, and the command says so with the
// container's last output.
func TestAutomaticRollback(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3), onFailure(api.OnFailureRollback)))
	bad := m.file("bad.json", string(mustJSON(t,
		m.manifest("app", replicas(3), broken, onFailure(api.OnFailureRollback)))))
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
