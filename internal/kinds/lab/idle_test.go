package lab

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/race"
)

func many(n int) (refs []api.Ref) {
	for i := range n {
		refs = append(refs, api.Ref{Kind: api.KindLab, Scope: "school", Name: fmt.Sprintf("lab-%d", i+1)})
	}
	return refs
}

// TestPendingLabsCostNothing: between their instants, labs (10,000 with the tag long) are touched by the engine's
// passes alone, and those write nothing: the resync finds none of them dirty, and the full pass reconciles each once in
// its ten minutes.
func TestPendingLabsCostNothing(t *testing.T) {
	const labs = pendingLabs / race.Few // the detector makes each reconcile slow
	inHarness(t, func(l *harness) {
		for chunk := range slices.Chunk(many(labs), 2000) {
			l.Put(labOf(48*time.Hour, time.Hour), chunk...)
		}
		l.Pass(11 * time.Minute) // a full pass covers the keys that there were when it began
		for _, ref := range many(labs) {
			if s := l.status(ref); s.Phase != api.LabPending {
				t.Fatalf("%s is %s", ref, s.Phase)
			}
		}
		revision, reconciles, passes := l.View.Revision(), l.reconciles.Load(), l.passes.Load()
		l.Pass(10 * time.Minute)
		if now := l.View.Revision(); now != revision {
			t.Errorf("the store went from revision %d to %d", revision, now)
		}
		if n := l.passes.Load() - passes; n < 59 || n > 61 {
			t.Errorf("%d passes in 10 minutes, want one every 10 s", n)
		}
		// The full pass is spread over ten minutes; how many of its keys fall into these ten is not exact.
		if n := l.reconciles.Load() - reconciles; n < labs-labs/100 || n > labs+labs/100 {
			t.Errorf("%d reconciles in 10 minutes, want one of each lab", n)
		}
		if dirty := l.dirty(); len(dirty) > 0 {
			t.Errorf("%d labs are dirty, such as %s", len(dirty), dirty[0])
		}
		// A node that comes and goes doesn't concern them.
		reconciles = l.reconciles.Load()
		l.SetNode("n2", true)
		l.SetNode("n2", false)
		l.Pass(time.Millisecond)
		if n := l.reconciles.Load() - reconciles; n > 1 {
			t.Errorf("%d reconciles because of a node", n)
		}
	})
}

// TestAThousandInstants: 1,000 labs, which begin at 500 instants, two at each: they begin within 100 ms of it, and end
// within 100 ms of theirs, while time follows the clock of the test.
func TestAThousandInstants(t *testing.T) {
	const labs = 1000 / race.Few
	inHarness(t, func(l *harness) {
		begins := map[api.Ref]time.Time{}
		for i, ref := range many(labs) {
			spec := labOf(time.Minute+time.Duration(i%500)*time.Second, 5*time.Minute)
			begins[ref] = spec.StartsAt()
			l.Put(spec, ref)
		}
		l.Pass(20 * time.Minute)
		for ref, at := range begins {
			s := l.status(ref)
			if late := s.StartedAt.Sub(at); late < 0 || late > 100*time.Millisecond {
				t.Errorf("%s began %s after its instant", ref, late)
			}
			if late := s.CompletedAt.Sub(s.EndsAt); s.Phase != api.LabTimeout || late < 0 ||
				late > 100*time.Millisecond {
				t.Errorf("%s is %s, %s after its instant", ref, s.Phase, late)
			}
			if l.Node.Made(ref) != 1 {
				t.Errorf("%s: %d containers", ref, l.Node.Made(ref))
			}
		}
		if len(l.Snapshot().Tasks()) > 0 {
			t.Error("tasks are left")
		}
	})
}
