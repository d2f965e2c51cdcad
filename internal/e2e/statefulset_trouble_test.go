//go:build integration

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestStatefulSetRebootstrapSurvivesACrash: asked for once, it is done once, however often the server dies.
func TestStatefulSetRebootstrapSurvivesACrash(t *testing.T) {
	m := newSets(t)
	m.deploy(m.set("db", replicas(2)))
	m.inside("db", 1, "write", "/data/mark", "old").must()
	result, err := m.client.Rebootstrap(t.Context(), client.TargetOf(m.ref("db")), 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		m.crashAfter(rand.N(200 * time.Millisecond))
		m.start()
	}
	m.converged("db", result.Revision)
	if got := m.inside("db", 1, "cat", "/data/mark"); got.err == nil {
		t.Errorf("ordinal 1 still holds %q", got.output)
	}
	m.inside("db", 1, "write", "/data/mark", "new").must()
	m.process.kill()
	m.start()
	m.converged("db", 0)
	if got := m.inside("db", 1, "cat", "/data/mark").must(); got != "new" {
		t.Errorf("it was emptied again, and holds %q", got)
	}
}

// TestStatefulSetServerIsKilledDuringARollout: it ends in one version with every ordinal once, and none was turned twice.
func TestStatefulSetServerIsKilledDuringARollout(t *testing.T) {
	m := newSets(t)
	m.deploy(m.set("db", replicas(3)))
	h := m.follow()
	revision := m.apply(m.set("db", replicas(3), runs("v2")))
	for range 5 {
		m.crashAfter(rand.N(700 * time.Millisecond))
		m.start()
	}
	m.converged("db", revision)
	m.exactly("db", 3, "v2")
	h.became("db", "die 2", "start 2", "die 1", "start 1", "die 0", "start 0")
}

// TestStatefulSetRollsBack: by hand to any release, and by itself from one that fails; what the failing one did not touch
// stays untouched.
func TestStatefulSetRollsBack(t *testing.T) {
	m := newSets(t)
	m.deploy(m.set("db", replicas(2)))
	m.deploy(m.set("db", replicas(2), runs("v2")))
	h := m.follow()
	m.wantSaid(m.tend("rollback", m.scope+"/db", "v1"), 0, "rolling back to v1")
	h.became("db", "die 1", "start 1", "die 0", "start 0")
	h.stop()
	m.exactly("db", 2, "v1")
	m.wantSaid(m.tend("releases", m.scope+"/db"), 0, "v1", "v2", "v3")

	before := m.inspect(m.ordinal("db", 0)).ID
	revision := m.apply(m.set("db", replicas(2), does("exit", "3"), onFailure(api.OnFailureRollback), watched("3s")))
	m.until("it turned back", func() bool {
		status := m.status("db")
		return status.ObservedRevision >= revision && status.Rollout != nil && status.Rollout.Phase == api.RolloutRolledBack
	})
	m.exactly("db", 2, "v1")
	if after := m.inspect(m.ordinal("db", 0)).ID; after != before {
		t.Error("ordinal 0 was replaced, though only ordinal 1 had been touched")
	}
}
