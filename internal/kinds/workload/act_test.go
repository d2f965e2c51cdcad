package workload

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// between runs what once, between the controller's read and its next commit.
func (l *harness) between(what func()) {
	l.before = func(store.Txn) {
		l.before = nil
		what()
	}
}

// If something changes between read and commit, nothing of the commit is written.
func TestConflictWritesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		reason  string
		change  func(*harness)
		prepare func(*harness)
	}{
		"the object changed": {
			"tasks of a spec that isn't wanted any more are never made",
			func(l *harness) { l.apply(replicas(1, "web:2")) },
			func(l *harness) { l.apply(replicas(3, "web:1")); l.looks(); l.runAgent() },
		},
		"the object was deleted": {
			"nothing comes up under an object that goes",
			func(l *harness) { l.delete() },
			func(l *harness) { l.apply(replicas(3, "web:1")); l.looks(); l.runAgent() },
		},
		"the object is gone": {
			"nor where there is none",
			func(l *harness) { l.write(func(txn *records.Txn) { txn.Delete(records.ObjectKey(web)) }) },
			func(l *harness) { l.apply(replicas(3, "web:1")); l.looks(); l.runAgent() },
		},
		"a task got its node": {
			"a task that changed is decided about again",
			func(l *harness) {
				l.write(func(txn *records.Txn) {
					task := *l.snapshot().TasksOf(web)[0].Value
					task.Node = "n1"
					txn.Put(records.TaskKey(task.ID), task)
				})
			},
			func(l *harness) {
				l.apply(replicas(3, "web:1"))
				l.looks()
				l.runAgent()
				l.looks()
				l.apply(replicas(0, "web:1"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			test.prepare(l)
			l.between(func() { test.change(l) })
			before := len(l.commits)
			if _, err := l.look(); !errors.Is(err, store.ErrConflict) {
				t.Fatalf("%s: the commit went through: %v", test.reason, err)
			}
			if len(l.commits) != before {
				t.Errorf("%s: %v", test.reason, l.commits[before:])
			}
		})
	}
}

// A store takes 10,000 operations per commit: more than that is split, and the next reconcile comes at once.
func TestManyActionsTakeSeveralCommits(t *testing.T) {
	const n = 2500
	l := newHarness(t)
	l.apply(replicas(n, "web:1"))
	l.looks()
	l.runAgent()
	for _, want := range []int{1000, 2000, n} {
		result := l.looks()
		if got := len(l.live()); got != want {
			t.Fatalf("%d tasks, want %d", got, want)
		}
		if again := result.After == time.Millisecond; again != (want < n) {
			t.Errorf("with %d tasks it is due again after %s", want, result.After)
		}
	}
	l.apply(replicas(0, "web:1"))
	for want := n - 1000; want > 0; want -= 1000 {
		l.looks()
		if got := len(l.live()); got != want {
			t.Fatalf("%d tasks are still wanted, want %d", got, want)
		}
	}
}

// Whatever the order of the planner's actions, a stop goes with the creation of its replacement.
func TestFirstActionsKeepPairs(t *testing.T) {
	var all []rollout.Action
	for i := range maxActions {
		slot := fmt.Sprintf("s%d", i)
		all = append(all, rollout.Action{Verb: rollout.Shutdown, Slot: slot},
			rollout.Action{Verb: rollout.Create, Replaces: slot})
	}
	for _, offset := range []int{0, 1} {
		got, more := firstActions(all[offset:])
		if last := got[len(got)-1]; !more || last.Verb != rollout.Create || len(got) > maxActions {
			t.Errorf("from %d: %d actions, the last is %v, more: %v", offset, len(got), last, more)
		}
	}
	if got, more := firstActions(all[:maxActions]); more || len(got) != maxActions {
		t.Errorf("what fits is cut to %d", len(got))
	}
}

// Defect: two slots of one commit that draw the same id.
func TestSlotsOfOneCommitDiffer(t *testing.T) {
	l := newHarness(t)
	ids := []string{"aaaaaaaa", "aaaaaaaa", "bbbbbbbb", "aaaaaaaa", "bbbbbbbb", "cccccccc"}
	l.c.NewSlot = func() string {
		id := ids[0]
		ids = ids[1:]
		return id
	}
	l.apply(replicas(3, "web:1"))
	l.looks()
	l.runAgent()
	l.looks()
	seen := map[string]bool{}
	for _, task := range l.live() {
		seen[task.Slot] = true
	}
	if len(seen) != 3 {
		t.Errorf("slots: %v", seen)
	}
}

// A task and its slot are created and deleted together, and an ended task's container is removed before its record.
func TestTasksAndSlotsBelongTogether(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.settle()
	l.apply(replicas(1, "web:1"))
	l.settle()
	tasks := l.snapshot().TasksOf(web)
	slots := 0
	for record := range l.snapshot().Prefix(records.SlotKey(web, "")) {
		slots++
		if id, _ := record.Value.(string); !l.snapshot().Task(id).Exists() {
			t.Errorf("%s names a task that isn't there", record.Key)
		}
	}
	if len(tasks) != 1 || slots != 1 {
		t.Errorf("%d tasks and %d slots for one replica", len(tasks), slots)
	}
	for record := range l.snapshot().Prefix(records.ActualTasksPrefix) {
		if id := record.Value.(*api.TaskStatus).ID; id != tasks[0].Value.ID {
			t.Errorf("%s is left", record.Key)
		}
	}
}

func TestKeepReleases(t *testing.T) {
	l := newHarness(t)
	keep := 2
	roll := func(command string) {
		spec := replicas(1, "web:1")
		spec.KeepReleases, spec.Command = &keep, []string{command}
		l.apply(spec)
		l.settle()
	}
	kept := func() (ids []string) {
		for _, r := range l.snapshot().Releases(web) {
			ids = append(ids, r.Value.ID)
		}
		return ids
	}
	for _, command := range []string{"a", "b", "c", "d"} {
		roll(command)
	}
	if got := fmt.Sprint(kept()); got != "[v3 v4]" {
		t.Errorf("kept: %s", got)
	}
	l.rollBack("v3")
	l.settle()
	if got := fmt.Sprint(kept()); got != "[v3 v4 v5]" {
		t.Errorf("the release a rollback refers to goes, or takes another's place: %s", got)
	}
	keep = 1
	l.fails["v6"] = true
	roll("bad")
	if got := fmt.Sprint(kept()); got != "[v5 v6]" || l.status().Release != "v5" {
		t.Errorf("kept are %s, in force %s: the last good one and that of the dead task are in use", got,
			l.status().Release)
	}
}

// A release holds the whole environment, even a large one.
func TestLargeEnvironment(t *testing.T) {
	l := newHarness(t)
	large := make([]byte, 16<<10)
	for i := range large {
		large[i] = 'x'
	}
	l.config("apps/prod/web/LARGE", string(large))
	l.apply(replicas(1, "web:1"))
	l.settle()
	if got := len(l.inForce().Env); got < len(large) {
		t.Errorf("the release holds %d bytes of environment", got)
	}
}

func TestReconcileOfNothing(t *testing.T) {
	l := newHarness(t)
	result, err := l.c.Reconcile(context.Background(), control.Key(web))
	if err != nil || result.Revision != 0 || len(l.commits) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
