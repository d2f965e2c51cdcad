//go:build integration

package e2e

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/testimage"
)

// TestHealsInPlace: whatever is done to a container behind Tend's back is undone, and its neighbour is left alone.
func TestHealsInPlace(t *testing.T) {
	m := newMachine(t, "--resync", "10m").start() // events alone
	m.deploy(m.manifest("app", replicas(2)))
	pods := m.pods("app")
	victim, neighbour := pods[0].Name, m.inspect(pods[1].Name)
	for _, harm := range [][]string{
		{"rm", "-f", victim}, {"stop", "-t", "5", victim}, {"kill", victim}, {"kill", "-s", "TERM", victim}, {"restart", victim},
	} {
		before := m.inspect(victim)
		m.engine(harm...).must()
		began := time.Now()
		m.until("healed after docker "+harm[0], func() bool {
			now, running := m.running("app")[victim]
			return running && (now.ID != before.ID || m.inspect(now.ID).State.StartedAt != before.State.StartedAt)
		})
		t.Logf("healed after docker %s: %d ms", harm[0], time.Since(began).Milliseconds())
		m.until("its status says so", func() bool { return m.status("app").Ready == 2 })
	}
	if now := m.inspect(pods[1].Name); now.State.StartedAt != neighbour.State.StartedAt {
		t.Error("the neighbour was restarted")
	}
	if status := m.converged("app", 0); status.Release != "v1" || len(m.running("app")) != 2 {
		t.Errorf("after all that %+v, %v", status, m.running("app"))
	}
}

// TestFrozenStaysStopped until an operator starts it, also across a scale and a restarted server.
func TestFrozenStaysStopped(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3)))
	victim := m.pods("app")[0].Name
	m.wantSaid(m.tend("stop", victim), 0)
	m.until("it is stopped", func() bool { return len(m.running("app")) == 2 && m.status("app").Frozen == 1 })
	m.terminate()
	m.start()
	status := m.deploy(m.manifest("app", replicas(4)))
	if _, runs := m.running("app")[victim]; runs || status.Frozen != 1 || len(m.running("app")) != 3 {
		t.Errorf("frozen slot after a scale to 4: %+v, %v", status, m.running("app"))
	}
	m.wantSaid(m.tend("start", victim), 0)
	m.until("it runs again", func() bool { return m.status("app").Ready == 4 && m.status("app").Frozen == 0 })
	m.exactly("app", 4, "v1")
}

// TestForeignContainersAreLeftAlone: a container without labels, one of another cluster that claims the same names, and one that
// Tend didn't start, each with its own state.
func TestForeignContainersAreLeftAlone(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(2)))
	cluster := m.inspect(m.pods("app")[0].Name).Config.Labels[api.LabelCluster]
	foreign := map[string][]string{
		"without labels":    nil,
		"another cluster's": {"tend.cluster=other", "tend.kind=deployment", "tend.scope=" + m.scope, "tend.name=app", "tend.slot=00000000"},
		"an unknown task's": {"tend.cluster=" + cluster, "tend.kind=deployment", "tend.scope=" + m.scope, "tend.name=app", "tend.task=00"},
	}
	ids := map[string]string{}
	m.afterwards(func() {
		for _, id := range ids {
			m.engine("rm", "-f", id).ignored() // the labelled ones are gone already
		}
	})
	for who, labels := range foreign {
		args := []string{"run", "-d", "--name", "tendtest-" + random(), "--network", "none"}
		for _, label := range labels {
			args = append(args, "--label", label)
		}
		ids[who] = m.engine(append(args, image("v1"), testimage.Program, "wait")...).must()
	}
	m.terminate()
	m.start()
	m.deploy(m.manifest("app", replicas(1), runs("v2")))
	if _, err := m.client.Delete(t.Context(), m.ref("app")); err != nil {
		t.Fatal(err)
	}
	m.until("the deployment is gone, its containers with it", func() bool {
		_, err := m.client.Object(t.Context(), m.ref("app"))
		return client.IsNotFound(err)
	})
	for who, id := range ids {
		if seen := m.inspect(id); !seen.State.Running || seen.RestartCount != 0 {
			t.Errorf("the container %s was touched: %+v", who, seen.State)
		}
	}
}

// TestATakenNetworkIsJoinedAgain: under its names, and with its published port, by the same container.
func TestATakenNetworkIsJoinedAgain(t *testing.T) {
	m := newMachine(t, "--resync", "1s").start()
	m.deploy(m.manifest("hello", func(s *api.DeploymentSpec) { s.Ports = []string{"8080"} }))
	pod := m.pods("hello")[0]
	before := m.inspect(pod.Name)
	m.until("it answers", func() bool { return answer(pod) != "" })
	m.engine("network", "disconnect", m.network, pod.Name).must()
	m.until("it is on its network again", func() bool { return len(m.inspect(pod.Name).NetworkSettings.Networks) == 1 })
	m.until("it answers where its status says", func() bool {
		pods := m.pods("hello")
		return len(pods) == 1 && pods[0].Ready && answer(pods[0]) == "hello v1 from "+pod.Name+"\n"
	})
	if after := m.inspect(pod.Name); after.ID != before.ID || after.State.StartedAt != before.State.StartedAt {
		t.Errorf("it was recreated: %s", after.ID)
	}
	m.knowsItself(pod)
	m.delete("hello")
}
