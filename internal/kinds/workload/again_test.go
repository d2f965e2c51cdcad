package workload

import (
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestWhatFailedIsTriedAgainWhenAnApplyAsks: the failure of before holds nothing any more, and its text is gone at the
// first look, however long its backoff would have been.
func TestWhatFailedIsTriedAgainWhenAnApplyAsks(t *testing.T) {
	l := newHarness(t)
	l.fails["v1"] = true
	l.apply(replicas(1, "web:1"))
	for range 12 {
		l.looks()
		l.place()
		l.runAgent()
	}
	if c := l.condition(api.ConditionProgressing); c.Reason != api.ReasonPaused {
		t.Fatalf("it is not paused: %+v", c)
	}
	began := l.now
	delete(l.fails, "v1")
	again := api.NewNonce(l.now)
	l.stamp(api.StampPull, again)
	l.looks()
	if c := l.condition(api.ConditionDegraded); c.Status != api.ConditionFalse || c.Message != "" {
		t.Errorf("the first look still says: %+v", c)
	}
	if c := l.condition(api.ConditionProgressing); c.Status != api.ConditionTrue {
		t.Errorf("it is not on its way: %+v", c)
	}
	l.runAgent()
	l.looks()
	if live := l.live(); len(live) != 1 || live[0].Pull != again || l.now.Sub(began) >= minWait {
		t.Errorf("after %s: %+v", l.now.Sub(began), live)
	}
	l.settle()
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

// minWait is the shortest backoff of a failed pod.
const minWait = 1e9

// TestHealingIsReported: what happens to a pod without a change of the object isn't a rollout that someone asked for.
func TestHealingIsReported(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.settle()
	if l.status().Rollout.Healing {
		t.Error("the first rollout was asked for")
	}
	task := l.live()[0]
	status := *l.snapshot().TaskStatus(task.ID).Value
	code := 3
	status.Steady, status.ExitCode, status.Exits = false, &code, append(status.Exits, l.now)
	l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(task.ID), status) })
	l.looks()
	if s := l.status(); !s.Rollout.Healing || s.Rollout.Phase != api.RolloutProgressing {
		t.Errorf("%+v", s.Rollout)
	}
	want := "1 of 1 pods run v1: a pod ended (exit code 3) and runs again; it has to stay up"
	if c := l.condition(api.ConditionProgressing); !strings.HasPrefix(c.Message, want) {
		t.Errorf("%q, want %q", c.Message, want)
	}
	l.settle()
	l.stamp(api.StampRestart, "1")
	l.looks()
	if s := l.status(); s.Rollout.Healing || s.Rollout.Phase != api.RolloutProgressing {
		t.Errorf("a restart was asked for: %+v", s.Rollout)
	}
}

// TestAReleaseRecordsWhatItChanged: the one before it may be pruned, and then nothing is left to compare it with.
func TestAReleaseRecordsWhatItChanged(t *testing.T) {
	l := newHarness(t)
	l.c.changes = func(before, after api.Release) []string { return []string{before.ID + " to " + after.ID} }
	l.apply(replicas(1, "web:1"))
	l.settle()
	l.apply(replicas(1, "web:2"))
	l.settle()
	releases := l.snapshot().Releases(l.ref)
	if len(releases) != 2 || len(releases[0].Value.Changed) != 0 ||
		!slices.Equal(releases[1].Value.Changed, []string{"v1 to v2"}) {
		t.Errorf("%d releases, the first changed %v, the last %v", len(releases), releases[0].Value.Changed,
			releases[len(releases)-1].Value.Changed)
	}
}
