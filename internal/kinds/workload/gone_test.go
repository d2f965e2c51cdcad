package workload

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// keysOf returns the keys that name an object, except where its volumes are, and the tasks and reports of all.
func (l *harness) keysOf(ref api.Ref) (keys []string) {
	for _, key := range l.everything() {
		named := strings.Contains(key, ref.Name) && !strings.HasPrefix(key, records.ActualImagesPrefix) &&
			!strings.HasPrefix(key, records.HomesPrefix)
		if named || strings.HasPrefix(key, records.TasksPrefix) || strings.HasPrefix(key, records.ActualTasksPrefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

// remove deletes the object of the harness.
func (l *harness) remove() {
	l.Helper()
	object := *l.snapshot().Object(l.ref).Value
	object.Metadata.DeletedAt = &l.now
	l.put(object)
}

// TestADeletionPassesANodeThatIsGone: a deletion waits for a node that doesn't answer until a person says that it is
// off, or as long as a container may run there. What is left there the node clears when it answers, and then nothing
// is left of the object. The node keeps its volumes: the release that names them is gone.
func TestADeletionPassesANodeThatIsGone(t *testing.T) {
	kinds := map[string]func(*testing.T) *harness{
		"deployment":  func(t *testing.T) *harness { return onNodes(t, replicas(4, "web:1"), "n2") },
		"statefulset": func(t *testing.T) *harness { return plainSet(t, 2) },
		"data": func(t *testing.T) *harness {
			return plainSet(t, 2, api.VolumeClaim{Name: "data", MountPath: "/data"})
		},
		"data with its volumes": func(t *testing.T) *harness {
			l := plainSet(t, 2, api.VolumeClaim{Name: "data", MountPath: "/data"})
			l.put(stamped(*l.snapshot().Object(data).Value, api.StampWipe, "true"))
			return l
		},
		"commands": func(t *testing.T) *harness {
			l := newHarness(t)
			l.join("n2")
			l.does["v1-command"] = hangs
			l.apply(released(2, "web:1"))
			for range 10 {
				l.looks()
				l.place()
				l.runAgent()
			}
			return l
		},
	}
	for kind, start := range kinds {
		for name, ends := range map[string]func(l *harness){
			"confirmed, then deleted": func(l *harness) { l.lose("n2"); l.confirmDown("n2"); l.settle(); l.remove() },
			"deleted, then confirmed": func(l *harness) { l.lose("n2"); l.remove(); l.settle(); l.confirmDown("n2") },
			"deleted before the loss": func(l *harness) {
				l.cut["n2"] = true
				l.remove()
				l.settle()
				l.lose("n2")
				l.confirmDown("n2")
			},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				l := start(t)
				ends(l)
				for range 10 { // so that nothing waits for a time
					if l.settle(); !l.snapshot().Object(l.ref).Exists() {
						break
					}
				}
				if l.snapshot().Object(l.ref).Exists() {
					t.Fatalf("it waits: %+v", l.status().Conditions)
				}
				left := l.snapshot().LeftoversOf(l.ref)
				if n := len(l.snapshot().Tasks()); n != len(left) || slices.ContainsFunc(left,
					func(task records.Read[api.Task]) bool { return task.Value.Node != "n2" }) {
					t.Errorf("%d tasks are left, these are leftovers: %+v", n, left)
				}
				if len(left) == 0 && kind != "commands" {
					t.Error("its node won't know of what it ran")
				}
				l.returns("n2")
				for range 5 {
					l.runAgent()
					l.place()
				}
				if left := l.keysOf(l.ref); len(left) > 0 {
					t.Errorf("after the return: %v", left)
				}
			})
		}
	}
}

// TestADeletionPassesWhatHasEndedOnALostNode: nothing runs of it, whether a person says that the node is off or not.
func TestADeletionPassesWhatHasEndedOnALostNode(t *testing.T) {
	l := plainSet(t, 2)
	l.remove()
	for range 20 {
		l.looks()
		for _, task := range l.snapshot().TasksOn("n2") {
			if status := l.snapshot().TaskStatus(task.Value.ID); status.Exists() && status.Value.State.Terminal() {
				l.cut["n2"] = true // before it removes the container
			}
		}
		l.runAgent()
		l.pass(1000)
	}
	if !l.cut["n2"] || !l.snapshot().Object(data).Exists() {
		t.Fatal("it didn't wait for n2")
	}
	l.lose("n2")
	if l.snapshot().Object(data).Exists() {
		t.Errorf("it waits: %+v", l.status().Conditions)
	}
}

// TestALeftoverOfADeletedObjectGoesWithItsNode: a node that is removed from the cluster has nothing left to clear.
func TestALeftoverOfADeletedObjectGoesWithItsNode(t *testing.T) {
	l := onNodes(t, replicas(4, "web:1"), "n2")
	l.lose("n2")
	l.confirmDown("n2")
	l.settle()
	l.delete()
	l.settle()
	if left := l.snapshot().Leftovers(); l.snapshot().Object(web).Exists() || len(left) == 0 {
		t.Fatalf("leftovers %v", left)
	}
	l.write(func(txn *records.Txn) { txn.Delete(records.NodeKey("n2")) })
	l.place()
	if left := l.keysOf(web); len(left) > 0 {
		t.Errorf("after its removal: %v", left)
	}
}

// TestALeftoverOfAnEarlierObjectHoldsNothingUp: an object is made again under the name of a deleted one, of which a
// node that answers keeps a container. Its deletion doesn't wait for that.
func TestALeftoverOfAnEarlierObjectHoldsNothingUp(t *testing.T) {
	l := onNodes(t, replicas(4, "web:1"), "n2")
	l.lose("n2")
	l.confirmDown("n2")
	l.settle()
	l.delete()
	l.settle()
	left := l.snapshot().Leftovers()
	again := l.apply(replicas(1, "web:1"))
	again.Metadata.UID = "again"
	l.put(again)
	l.settle()
	l.write(func(txn *records.Txn) { txn.Put(records.AliveKey("n2"), "again") }) // it clears nothing yet
	l.delete()
	l.settle()
	if l.snapshot().Object(web).Exists() || len(left) == 0 || len(l.snapshot().Leftovers()) != len(left) {
		t.Errorf("%+v, of %d left there are %d", l.status().Conditions, len(left), len(l.snapshot().Leftovers()))
	}
}

// TestAnOrdinalThatHadEndedStartsElsewhere: its container can't run any more, so it doesn't wait for a node that was
// lost later.
func TestAnOrdinalThatHadEndedStartsElsewhere(t *testing.T) {
	for name, off := range map[string]bool{"lost": false, "confirmed": true} {
		t.Run(name, func(t *testing.T) {
			l := plainSet(t, 2)
			ordinal, before := l.on("n2")
			l.cut["n2"] = true
			l.write(func(txn *records.Txn) {
				status := *l.snapshot().TaskStatus(before.ID).Value
				status.State, status.Ready, status.Reason, status.FinishedAt = api.TaskFailed, false, api.ReasonExited,
					l.now
				txn.Put(records.TaskStatusKey(before.ID), status)
			})
			l.lose("n2")
			if off {
				l.confirmDown("n2")
				l.settle()
			}
			if got := l.ordinals()[ordinal]; got.ID == before.ID || got.Node != "n1" {
				t.Fatalf("%+v, %+v", got, l.status().Conditions)
			}
			l.returns("n2")
			l.settle()
			if l.snapshot().Task(before.ID).Exists() || l.condition(api.ConditionReady).Status != api.ConditionTrue {
				t.Errorf("after the return: %+v", l.status().Conditions)
			}
		})
	}
}

// TestAStopFirstPodWaitsForNoLostOne: it has the only room that is left, so no node seems to take a successor of the
// one that it waits for.
func TestAStopFirstPodWaitsForNoLostOne(t *testing.T) {
	spec := replicas(1, "web:1")
	spec.Strategy.Order = api.OrderStopFirst
	spec.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: "60Mi"}}
	l := newHarness(t)
	for _, node := range []string{"n2", "n1"} {
		l.write(func(txn *records.Txn) {
			txn.Put(records.NodeKey(node), api.NodeStatus{ID: node, Runtime: "hollow", Ready: true,
				MemoryBytes: 100 << 20}).Put(records.AliveKey(node), "now")
		})
	}
	l.apply(spec)
	l.settle()
	old := l.live()[0].Node
	l.cut[old] = true
	l.declare(old, api.NodeSpec{Availability: api.NodeCordoned})
	spec.Image = "web:2"
	l.apply(spec)
	for range 20 {
		l.looks()
		l.place()
		l.runAgent()
		l.pass(1)
	}
	if next := l.live(); len(next) != 1 || next[0].Node == old || next[0].After == "" {
		t.Fatalf("%+v", next)
	}
	l.lose(old)
	l.now = l.now.Add(time.Minute)
	l.settle()
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("it waits: %+v, %+v", l.live(), l.status().Conditions)
	}
}
