//go:build integration && long

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestStatefulSetServerIsKilledDuringARollout: it ends in one version with every ordinal once, and none was turned
// twice.
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
