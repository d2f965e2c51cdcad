package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// boxed notes that the container of a slot runs, and whether another one of the ordinal does.
func (w *world) boxed(s *Slot) {
	for _, old := range w.leftovers {
		if old.ID == s.ID && w.boxes[old.Task] && !w.wrong[old.Task] && w.overlap == "" {
			w.overlap = fmt.Sprintf("ordinal %s runs as task %s beside %s", s.ID, s.Task, old.Task)
		}
	}
	w.boxes[s.Task] = true
}

// clear lets a node that has returned stop and remove the container of a task that lost its ordinal.
func (w *world) clear(leftover int) {
	delete(w.boxes, w.leftovers[leftover].Task)
	w.leftovers = slices.Delete(w.leftovers, leftover, leftover+1)
}

// confirmDown says that a silent node is off: its tasks have ended. runs says that it is wrong, since the machine runs.
func (w *world) confirmDown(node string, runs bool) {
	if !w.cut[node] {
		return // a node that answers is refused
	}
	for _, old := range w.leftovers {
		w.confirmTask(old.Task, node, runs)
	}
	for _, s := range w.sorted() {
		w.confirmTask(s.Task, node, runs)
		if w.node[s.Task] == node && s.Placed && s.Observed && !s.State.Terminal() {
			s.State, s.Off, s.Ready, s.Steady, s.CrashLoop, s.EndedAt = api.TaskFailed, true, false, false, false, w.now
			w.log("  %s counts as ended", s.ID)
		}
	}
}

// confirmTask says that a machine is off that may have a task's container.
func (w *world) confirmTask(task, node string, runs bool) {
	switch {
	case w.node[task] != node || !w.boxes[task]:
	case runs:
		w.wrong[task] = true
	default:
		delete(w.boxes, task)
	}
}

// confirm is the event that a person says that a node is off.
func (h *history) confirm(t *rapid.T) {
	h.confirmDown(rapid.SampledFrom(h.nodes).Draw(t, "node"), rapid.Bool().Draw(t, "wrong"))
}

// An ordinal has at most one live container, whatever nodes and people do, unless a person said of a machine that runs
// that it is off.
func TestAnOrdinalHasOneContainer(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		if l.after.overlap != "" {
			t.Fatal(l.after.overlap)
		}
	})
}

// A node that is off doesn't fail what ran there: nothing is paused or turned back by it.
func TestAConfirmedNodeIsNoFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.nodes, w.desired.Target.Release, w.desired.LastGood = []string{"n1", "n2"}, "v2", "v1"
		w.desired.Replicas = rapid.IntRange(1, 5).Draw(t, "replicas")
		w.desired.Strategy.OnFailure = rapid.SampledFrom([]string{api.OnFailurePause, api.OnFailureRollback}).Draw(t,
			"on failure")
		w.desired.Ordered, w.pinned = rapid.Bool().Draw(t, "ordered"), rapid.Bool().Draw(t, "pinned")
		w.desired.Strategy.Order, w.desired.Strategy.MaxParallel = api.OrderStopFirst, 1
		w.run(w.now.Add(time.Duration(rapid.IntRange(0, 20000).Draw(t, "ms")) * time.Millisecond))
		w.cut["n2"] = true
		w.confirmDown("n2", false)
		for range 100 {
			plan := w.plan()
			for _, a := range plan.Actions {
				if a.Verb == RollBack {
					t.Fatalf("%v", a)
				}
			}
			if plan.Phase == api.RolloutPaused || plan.Counts.Failing > 0 {
				t.Fatalf("%s: %s %s", plan.Phase, plan.Reason, plan.Message)
			}
			w.performAll(plan)
			w.work(w.now.Add(100 * time.Millisecond))
		}
	})
}

// An ordinal of a node that is off starts elsewhere, or waits there with its data. When the node returns, it runs once,
// and nothing else is left.
func TestAnOrdinalOfANodeThatIsOff(t *testing.T) {
	for name, pinned := range map[string]bool{"no data": false, "data": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.nodes, w.desired.Ordered, w.desired.Replicas, w.desired.Target.Release = []string{"n1", "n2"}, true, 2, "v1"
			w.desired.Strategy.Order, w.pinned = api.OrderStopFirst, pinned
			w.run(w.now.Add(time.Hour))
			lost := w.slots["1"].Task
			if w.node[lost] != "n2" || !w.boxes[lost] {
				t.Fatalf("%+v runs on %s", *w.slots["1"], w.node[lost])
			}
			w.cut["n2"] = true
			w.confirmDown("n2", true) // the machine runs, so that its return shows what is done with its container
			w.run(w.now.Add(time.Hour))
			s := w.slots["1"]
			switch {
			case pinned && (s.Task != lost || w.plan().Phase == api.RolloutComplete):
				t.Fatalf("it doesn't wait for its data: %+v", *s)
			case !pinned && (!s.serves() || w.node[s.Task] != "n1" || w.plan().Phase != api.RolloutComplete):
				t.Fatalf("it doesn't run elsewhere: %+v on %q", *s, w.node[s.Task])
			}
			w.cut["n2"] = false
			w.run(w.now.Add(time.Hour))
			if s = w.slots["1"]; !s.serves() || s.Task == lost || w.boxes[lost] || len(w.leftovers) > 0 ||
				w.plan().Phase != api.RolloutComplete {
				t.Errorf("after the return: %+v, leftovers %v", *s, w.leftovers)
			}
		})
	}
}

// Scaling waits for no pod on a node that doesn't answer: one that is stopped first may never say that it has stopped.
func TestScalingPassesOverALostPod(t *testing.T) {
	for _, isOrdered := range []bool{false, true} {
		for _, to := range []int{1, 2, 6} {
			w := newWorld()
			w.nodes, w.desired.Ordered, w.desired.Replicas, w.desired.Target.Release = []string{"n1", "n2"}, isOrdered, 4, "v1"
			w.desired.Strategy.Order = api.OrderStopFirst
			w.run(w.now.Add(time.Hour))
			w.cut["n2"], w.held = true, true // so that nothing is replaced elsewhere
			w.desired.Replicas = 3
			w.run(w.now.Add(time.Hour))
			w.desired.Replicas = to
			w.run(w.now.Add(time.Hour))
			serving, lost := 0, 0
			for _, s := range w.list() {
				n, _ := strconv.Atoi(s.ID)
				switch {
				case s.Lost && (isOrdered && n < to || s.live()): // an ordinal that was stopped there waits for its own end
					lost++
				case s.serves():
					serving++
				case s.live():
					t.Errorf("ordered %v, %d replicas: %+v waits", isOrdered, to, s)
				}
			}
			if serving+lost != to {
				t.Errorf("ordered %v, %d replicas: %d serve, %d are lost", isOrdered, to, serving, lost)
			}
		}
	}
}
