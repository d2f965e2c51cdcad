package puller

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api/pull"
)

// TestTheEndOfAConflictIsReported: a resource that is in conflict is reported when it is gone, at once, and by a puller
// that has just started too.
func TestTheEndOfAConflictIsReported(t *testing.T) {
	inBench(t, func(b *bench) {
		says := func(when, want string) {
			b.Helper()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := b.plane.reported(); got != want {
				b.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		b.plane.give(applyJob("j1", "k1", "1"))
		says("applied", "cloud k1")
		b.cluster.edit(cloudRef)
		b.cluster.fail = &ConflictError{Manager: "kubectl-edit", Field: ".spec"}
		b.plane.give(applyJob("j2", "k2", "2"))
		says("in conflict", "cloud k2 spec by kubectl-edit")
		b.cluster.gone(cloudRef)
		b.puller.Changed(cloudRef)
		says("gone", "cloud k2 missing")
		b.stop()
		b.plane.delivered = []pull.Job{applyJob("j2", "k2", "2")}
		b.start()
		says("started again", "cloud k2 missing")
	})
}
