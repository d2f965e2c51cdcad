//go:build integration

package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestServerIsKilledDuringARollout at random moments, again and again: it ends in one version and the exact number, with
// no slot turned twice.
func TestServerIsKilledDuringARollout(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(4)))
	h := m.follow()
	revision := m.apply(m.manifest("app", replicas(4), runs("v2")))
	for crash := range 5 {
		m.crashAfter(rand.N(900 * time.Millisecond))
		t.Logf("crash %d left %v", crash, m.versions("app"))
		m.start()
	}
	m.converged("app", revision)
	m.exactly("app", 4, "v2")
	if fewest, most := h.bounds("app", 4); fewest < 4 || most > 5 {
		t.Errorf("between %d and %d containers ran, want 4 to 5: a crash lost or doubled a slot", fewest, most)
	}
	if n := h.starts("app", "v2"); n != 4 {
		t.Errorf("%d containers of v2 were started for 4 slots", n)
	}
	// Nothing is left to do: scaling adds one and touches none.
	before := m.containers("app")
	m.deploy(m.manifest("app", replicas(5), runs("v2")))
	if !contains(m.containers("app"), before) {
		t.Errorf("scaling after the crashes replaced containers: %v -> %v", before, m.containers("app"))
	}
	m.exactly("app", 5, "v2")
}

// crashAfter kills the server once it has had some time to get somewhere.
func (m *machine) crashAfter(some time.Duration) {
	m.Helper()
	select {
	case <-time.After(some):
	case <-m.ended:
		m.Fatalf("the server ended by itself:\n%s", m.output.tail())
	}
	m.process.kill()
}

// versions counts an object's running containers by release.
func (m *machine) versions(name string) map[string]int {
	m.Helper()
	out := map[string]int{}
	for _, b := range m.running(name) {
		out[b.Labels[api.LabelRelease]]++
	}
	return out
}

// TestServerRestartsTouchNothing: neither a crash nor a restart of the server restarts a container, and what happened to
// one while it was down is healed when it returns.
func TestServerRestartsTouchNothing(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3)))
	pods := m.pods("app")
	began := func() (out []string) {
		for _, pod := range pods {
			out = append(out, m.inspect(pod.Name).State.StartedAt)
		}
		return out
	}
	before := began()
	m.process.kill()
	m.start()
	m.converged("app", 0)
	m.terminate()
	m.start()
	m.converged("app", 0)
	if after := began(); !slices.Equal(before, after) {
		t.Errorf("containers were restarted: %v -> %v", before, after)
	}
	// A killed, a removed and a stopped one count as missing, not as live.
	m.process.kill()
	m.engine("kill", pods[0].Name).must()
	m.engine("rm", "-f", pods[1].Name).must()
	m.engine("stop", pods[2].Name).must()
	m.start()
	m.until("all three run again", func() bool { return len(m.running("app")) == 3 && m.status("app").Ready == 3 })
	m.exactly("app", 3, "v1")
	m.deploy(m.manifest("app", replicas(1)))
	m.exactly("app", 1, "v1")
}

// TestServerIsKilledDuringADelete: nothing is left of the object, at whatever moment.
func TestServerIsKilledDuringADelete(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(6)))
	if _, err := m.client.Delete(t.Context(), m.ref("app")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		m.crashAfter(rand.N(250 * time.Millisecond))
		m.start()
	}
	m.gone("app")
	// The name is free again.
	m.deploy(m.manifest("app"))
}

// TestStopWithManyPods: the server ends within its own bounds however many containers run, and they run on.
func TestStopWithManyPods(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(20), func(s *api.DeploymentSpec) { s.NetworkMode = "none" }))
	before := m.running("app")
	t.Logf("SIGTERM with 20 pods: %d ms", m.terminate().Milliseconds())
	after := m.running("app")
	for name, b := range before {
		if after[name].ID != b.ID {
			t.Errorf("%s did not survive the server's end", name)
		}
	}
}
