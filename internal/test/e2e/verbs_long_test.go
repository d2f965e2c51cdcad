//go:build integration && long

package e2e

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestVerbsAtOnce: restarts, applies, scales and rollbacks in any order, some of them at the same time, end in one
// version and the exact number of replicas.
func TestVerbsAtOnce(t *testing.T) {
	m := newMachine(t).start()
	quick := func(s *api.DeploymentSpec) { s.Strategy.MaxParallel, s.Strategy.Monitor = 3, "50ms" }
	m.deploy(m.manifest("app", replicas(2), quick))
	m.deploy(m.manifest("app", replicas(2), quick, runs("v2"))) // there is something to roll back to
	target := client.TargetOf(m.ref("app"))
	verbs := []func() error{
		func() error { _, err := m.client.Restart(t.Context(), target); return err },
		func() error { _, err := m.client.Scale(t.Context(), target, 1+rand.N(4)); return err },
		func() error { _, err := m.client.Rollback(t.Context(), target, ""); return err },
		func() error {
			object := m.manifest("app", replicas(1+rand.N(4)), runs(versions[rand.N(len(versions))]), quick)
			_, err := m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{object}})
			return err
		},
	}
	for range 20 {
		var group sync.WaitGroup
		for _, i := range rand.Perm(len(verbs)) {
			group.Go(func() {
				if err := verbs[i](); err != nil && !client.IsConflict(err) {
					t.Errorf("verb %d: %v", i, err)
				}
			})
		}
		group.Wait()
		m.seen("app") // so that every round has an effect, and interrupts the previous one
	}
	last := m.apply(m.manifest("app", replicas(3), runs("v2"), quick, env(map[string]string{"LAST": "yes"})))
	status := m.converged("app", last)
	m.exactly("app", 3, "v2")
	for name, b := range m.running("app") {
		if b.Labels[api.LabelRelease] != status.Release {
			t.Errorf("%s runs %s, want %s", name, b.Labels[api.LabelRelease], status.Release)
		}
	}
	// What was replaced last may still be on its way out.
	m.until("no container is left half made or half removed", func() bool {
		return !slices.ContainsFunc(m.boxes("tend.scope="+m.scope), func(b box) bool {
			return b.State != "running" && b.State != "exited"
		})
	})
	t.Logf("%d releases were made on the way", status.LastReleaseNumber)
}

// seen waits until the controller has reconciled the stored version of an object.
func (m *machine) seen(name string) {
	m.Helper()
	object, err := m.client.Object(m.Context(), m.ref(name))
	if err != nil {
		m.Fatal(err)
	}
	m.until("the newest write of "+name+" is reconciled", func() bool {
		return m.status(name).ObservedRevision >= object.Metadata.Revision
	})
}
