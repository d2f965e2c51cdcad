//go:build integration

package e2e

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/testimage"
)

// TestServerIsKilledDuringARollout at random moments, again and again: it ends in one version and the exact number,
// with no slot turned twice.
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
	// Everything is done: scaling adds one and touches none.
	before := m.containers("app")
	m.deploy(m.manifest("app", replicas(5), runs("v2")))
	if !contains(m.containers("app"), before) {
		t.Errorf("scaling after the crashes replaced containers: %v -> %v", before, m.containers("app"))
	}
	m.exactly("app", 5, "v2")
}

// crashAfter kills the server after some time.
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

// TestServerRestartsTouchNothing: neither a crash nor a restart of the server restarts a container. What happened to
// one while the server was down is healed when it returns. Foreign containers are left alone, also by a rollout and a
// deletion.
func TestServerRestartsTouchNothing(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3)))
	pods := m.pods("app")
	foreign := m.foreignContainers(pods[0])
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
	m.until("all three run again", func() bool { return m.status("app").Ready == 3 && m.count("app", foreign) == 3 })
	m.deploy(m.manifest("app", replicas(1), runs("v2")))
	if n := m.count("app", foreign); n != 1 {
		t.Errorf("%d containers run, want 1", n)
	}
	if _, err := m.client.Delete(t.Context(), m.ref("app")); err != nil {
		t.Fatal(err)
	}
	m.until("the deployment is gone", func() bool {
		_, err := m.client.Object(t.Context(), m.ref("app"))
		return client.IsNotFound(err)
	})
	for who, id := range foreign {
		if seen := m.inspect(id); !seen.State.Running || seen.RestartCount != 0 {
			t.Errorf("the container %s was touched: %+v", who, seen.State)
		}
	}
}

// foreignContainers starts containers that look like those of a pod's object: without labels, with the labels of
// another cluster, and with those of a task that was never stored.
func (m *machine) foreignContainers(pod api.Pod) map[string]string {
	m.Helper()
	cluster := m.inspect(pod.Name).Config.Labels[api.LabelCluster]
	like := []string{"tend.kind=deployment", "tend.scope=" + m.scope, "tend.name=" + pod.Resource}
	ids := map[string]string{}
	m.afterwards(func() {
		for _, id := range ids {
			m.engine("rm", "-f", id).ignored() // the labelled ones are gone already
		}
	})
	for who, labels := range map[string][]string{
		"without labels":    nil,
		"another cluster's": append([]string{"tend.cluster=other", "tend.slot=00000000"}, like...),
		"an unknown task's": append([]string{"tend.cluster=" + cluster, "tend.task=00"}, like...),
	} {
		args := []string{"run", "-d", "--name", "tendtest-" + random(), "--network", "none"}
		for _, label := range labels {
			args = append(args, "--label", label)
		}
		ids[who] = m.engine(append(args, image("v1"), testimage.Program, "wait")...).must()
	}
	return ids
}

// count counts an object's running containers, without the foreign ones that look like them.
func (m *machine) count(name string, foreign map[string]string) (n int) {
	m.Helper()
	ids := slices.Collect(maps.Values(foreign))
	for _, b := range m.running(name) {
		if !slices.Contains(ids, b.ID) {
			n++
		}
	}
	return n
}
