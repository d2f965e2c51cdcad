//go:build integration

package e2e

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestScale: containers come and go, those that stay are the same, and no release is made. With another spec in the
// same apply, every container has the new one.
func TestScale(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(2)))
	two := m.containers("app")
	m.wantSaid(m.tend("scale", m.scope+"/app", "4"), 0)
	four := m.containers("app")
	if len(four) != 4 || !contains(four, two) {
		t.Errorf("scaling up made %v of %v", four, two)
	}
	result, err := m.client.Scale(t.Context(), client.TargetOf(m.ref("app")), 3)
	if err != nil {
		t.Fatal(err)
	}
	status := m.converged("app", result.Revision)
	three := m.containers("app")
	if len(three) != 3 || !contains(four, three) || status.Release != "v1" {
		t.Errorf("scaling down made %v of %v, release %s", three, four, status.Release)
	}
	// The same manifest again, count aside, changes nothing.
	again := m.deploy(m.manifest("app", replicas(3)))
	if again.Release != "v1" || !slices.Equal(m.containers("app"), three) {
		t.Errorf("applying the same again replaced containers: %v -> %v", three, m.containers("app"))
	}
	if m.converged("app", m.apply(m.manifest("app", replicas(0)))); len(m.running("app")) != 0 {
		t.Errorf("scaled to 0, %v still run", m.running("app"))
	}

	limited := func(memory string) func(*api.DeploymentSpec) {
		return func(s *api.DeploymentSpec) {
			s.Resources = &api.Resources{Limits: &api.ResourceLimits{Memory: memory}}
		}
	}
	m.deploy(m.manifest("app", replicas(2), limited("32Mi")))
	status = m.deploy(m.manifest("app", replicas(4), limited("64Mi")))
	if status.Release != "v3" || status.Updated != 4 {
		t.Errorf("status %+v", status)
	}
	for name := range m.running("app") {
		if memory := m.inspect(name).HostConfig["Memory"]; memory != float64(64<<20) {
			t.Errorf("%s may use %v bytes, want 64 MiB", name, memory)
		}
	}
	m.exactly("app", 4, "v1")
	same := m.file("same.json", string(mustJSON(t, m.manifest("app", replicas(4), limited("64Mi")))))
	m.wantSaid(m.tend("diff", "--detailed-exitcode", "-f", same), 0)
}

func contains(all, part []string) bool {
	return !slices.ContainsFunc(part, func(id string) bool { return !slices.Contains(all, id) })
}
