package workload

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// A rollout begins at its first reconcile, ends when all slots are good, and begins again with a scale.
func TestRolloutTimes(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.looks()
	l.runAgent()
	l.pass(1000)
	began := l.now
	l.looks()
	if r := l.status().Rollout; !r.StartedAt.Equal(began) || !r.EndedAt.IsZero() || r.LastGoodRelease != "" {
		t.Fatalf("under way: %+v", r)
	}
	l.settle()
	ended := l.status().Rollout.EndedAt
	if r := l.status().Rollout; !r.StartedAt.Equal(began) || !ended.After(began) || r.LastGoodRelease != "v1" ||
		r.Phase != api.RolloutComplete {
		t.Fatalf("complete: %+v", r)
	}

	l.pass(60_000)
	again := l.now
	l.apply(replicas(2, "web:1"))
	l.looks()
	if r := l.status().Rollout; !r.StartedAt.Equal(again) || !r.EndedAt.IsZero() || r.LastGoodRelease != "v1" {
		t.Errorf("a scale begins it again: %+v", r)
	}
	l.settle()
	if r := l.status().Rollout; !r.StartedAt.Equal(again) || !r.EndedAt.After(again) {
		t.Errorf("and ends it: %+v", r)
	}
}

// A transition time changes only with its status, and the status names the generation it saw.
func TestTransitionTimesAndGenerations(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.settle()
	ready := l.condition(api.ConditionReady)
	l.pass(60_000)
	spec, keep := replicas(1, "web:1"), 3
	spec.KeepReleases = &keep
	object := l.apply(spec)
	l.settle()
	s := l.status()
	if s.ObservedGeneration != object.Metadata.Generation || s.ObservedRevision != l.snapshot().Object(web).Modified {
		t.Errorf("the status speaks of generation %d at %d", s.ObservedGeneration, s.ObservedRevision)
	}
	if again := l.condition(api.ConditionReady); !again.LastTransitionTime.Equal(ready.LastTransitionTime) {
		t.Errorf("Ready did not change, its time went from %s to %s", ready.LastTransitionTime,
			again.LastTransitionTime)
	}
}

// A replaced image counts: the numbers are about what runs now.
func TestCountsDuringARollout(t *testing.T) {
	l := newHarness(t)
	spec := replicas(3, "web:1")
	spec.Strategy.Monitor = "1h"
	l.apply(spec)
	l.looks()
	l.runAgent()
	l.looks()
	if s := l.status(); s.Replicas != 3 || s.Running != 0 || s.Release != "v1" || s.ImageID != "sha256:1" {
		t.Errorf("created: %+v", s)
	}
	l.place()
	l.runAgent()
	l.looks()
	if s := l.status(); s.Running != 3 || s.Ready != 3 || s.Updated != 0 {
		t.Errorf("running, not proved yet: %+v", s)
	}
	l.now = l.now.Add(2 * time.Hour)
	l.looks()
	if s := l.status(); s.Updated != 0 {
		t.Errorf("time has passed, but nothing was reconciled: %+v", s)
	}
	l.runAgent()
	l.looks()
	if s := l.status(); s.Updated != 3 {
		t.Errorf("proved: %+v", s)
	}
}

// TestADeadlineCountsFromTheReturnOfTheServer: while the server was away, no pod was observed.
func TestADeadlineCountsFromTheReturnOfTheServer(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.looks()
	l.write(func(txn *records.Txn) { l.answerImage(txn) })
	l.looks()
	l.place()
	phase := func() api.RolloutPhase {
		l.looks()
		return l.status().Rollout.Phase
	}
	const deadline = 5 * time.Minute // the default
	l.now = l.now.Add(2 * deadline)
	l.c = newController(l.c.Deps, l.c.kind, l.c.liveness)
	if got := phase(); got != api.RolloutProgressing {
		t.Errorf("at the server's return it is %s", got)
	}
	l.now = l.now.Add(deadline)
	if got := phase(); got != api.RolloutPaused {
		t.Errorf("a deadline after its return it is %s", got)
	}
}
