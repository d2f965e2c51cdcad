//go:build integration

package e2e

import (
	"testing"
	"time"
)

// TestHealsInPlace: any change to a container behind Tend's back is undone, and its neighbour is left alone.
func TestHealsInPlace(t *testing.T) {
	m := newMachine(t, "--resync", "10m").start() // events alone
	m.deploy(m.manifest("app", replicas(2)))
	pods := m.pods("app")
	victim, neighbour := pods[0].Name, m.inspect(pods[1].Name)
	for _, harm := range [][]string{
		{"rm", "-f", victim}, {"stop", "-t", "5", victim}, {"kill", victim},
		{"kill", "-s", "TERM", victim}, {"restart", victim},
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
