//go:build integration

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestLogsOfInits: what an init that failed has said is shown, by its name and as that of the pod it held up; of one that is
// gone it is said that it is gone, and a follower isn't stopped by it.
func TestLogsOfInits(t *testing.T) {
	m := newMachine(t).start()
	m.apply(m.manifest("app", onFailure(api.OnFailurePause), func(s *api.DeploymentSpec) {
		s.Inits = []api.Init{{Name: "first", Command: program("print", "1")}, {Name: "migrate", Command: program("cat", "/no/such/migration")}}
	}))
	m.degraded("app", "InitFailed", "/no/such/migration")
	name := m.scope + "/app"
	m.wantSaid(m.tend("logs", name, "--init", "migrate"), 0, "/no/such/migration: no such file")
	m.wantSaid(m.tend("logs", name), 0, "/no/such/migration: no such file", "-init-migrate-")
	m.wantSaid(m.tend("logs", name, "--init", "seed"), 1, "has an init called", "there is first, migrate")
	m.deploy(m.manifest("app", func(s *api.DeploymentSpec) {
		s.Inits = []api.Init{{Name: "first", Command: program("print", "1")}}
	}))
	pod := slices.Collect(maps.Keys(m.running("app")))[0]
	m.until("its init is removed", func() bool {
		said := m.tend("logs", pod, "--init", "first")
		return said.code == 1 && strings.Contains(said.output, "removed once their pod runs")
	})
}
