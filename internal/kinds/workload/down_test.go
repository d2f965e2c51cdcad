package workload

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// plainSet returns a harness with two nodes and a statefulset that has settled on them.
func plainSet(t *testing.T, n int, claims ...api.VolumeClaim) *harness {
	t.Helper()
	l := newHarness(t)
	l.join("n2")
	l.c = newController(l.c.Deps, api.KindStatefulSet, l.liveness)
	l.ref = data
	raw, err := json.Marshal(api.StatefulSetSpec{DeploymentSpec: replicas(n, "web:1"), VolumeClaims: claims})
	if err != nil {
		t.Fatal(err)
	}
	l.put(api.Object{
		Kind: data.Kind, Scope: data.Scope, Name: data.Name, Spec: raw,
		Metadata: api.Metadata{Generation: 1, Finalizers: []string{api.FinalizerTasks}},
	})
	l.settle()
	return l
}

// confirmDown writes what `tend nodes confirm-down` does.
func (l *harness) confirmDown(node string) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		for _, task := range l.snapshot().TasksOn(node) {
			read := l.snapshot().TaskStatus(task.Value.ID)
			if !read.Exists() || read.Value.State.Terminal() {
				continue
			}
			status := *read.Value
			status.State, status.Ready, status.Reason, status.FinishedAt = api.TaskFailed, false, api.ReasonNodeDown,
				l.now
			txn.Put(records.TaskStatusKey(status.ID), status)
		}
	})
}

// lose cuts a node off until it is lost.
func (l *harness) lose(nodes ...string) {
	l.Helper()
	l.silence(nodes...)
	l.now = l.now.Add(30 * time.Second)
	l.settle()
}

// on returns the ordinal on a node, and its task.
func (l *harness) on(node string) (string, api.Task) {
	l.Helper()
	for ordinal, task := range l.ordinals() {
		if task.Node == node {
			return ordinal, task
		}
	}
	l.Fatalf("nothing is on %s: %+v", node, l.ordinals())
	return "", api.Task{}
}

// Once a person says that a node is off, its ordinal starts on another one. Its former task stays until the node has
// cleared it, and nothing else speaks of it.
func TestAnOrdinalOfANodeThatIsOffStartsElsewhere(t *testing.T) {
	l := plainSet(t, 2)
	ordinal, before := l.on("n2")
	l.lose("n2")
	if c := l.condition(api.ConditionDegraded); c.Reason != api.ReasonNodeLost ||
		!strings.Contains(c.Next, "tend nodes confirm-down n2") {
		t.Errorf("before: %+v", c)
	}
	l.confirmDown("n2")
	l.settle()
	next := l.ordinals()[ordinal]
	if next.ID == before.ID || next.Node != "n1" || next.Attempt != 1 {
		t.Fatalf("ordinal %s: %+v", ordinal, next)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
	left := l.snapshot().LeftoversOf(data)
	if len(left) != 1 || left[0].Value.ID != before.ID || left[0].Value.Desired != api.DesiredRemoved ||
		len(l.snapshot().TasksOf(data)) != 2 {
		t.Fatalf("leftovers %+v, tasks %+v", left, l.snapshot().TasksOf(data))
	}
	l.returns("n2")
	l.settle()
	if l.snapshot().Task(before.ID).Exists() || l.ordinals()[ordinal].ID != next.ID {
		t.Errorf("after its return: leftovers %+v, ordinals %+v", l.snapshot().LeftoversOf(data), l.ordinals())
	}
	l.lose("n1") // and back again
	l.confirmDown("n1")
	l.settle()
	if got := l.ordinals(); got["0"].Node != "n2" || got["1"].Node != "n2" {
		t.Errorf("%+v", got)
	}
}

// An ordinal whose data is on the node waits for it, and the status says what helps and what that costs.
func TestAnOrdinalWaitsForItsData(t *testing.T) {
	l := plainSet(t, 2, api.VolumeClaim{Name: "data", MountPath: "/data"})
	ordinal, before := l.on("n2")
	l.lose("n2")
	l.confirmDown("n2")
	l.settle()
	if got := l.ordinals()[ordinal]; got.ID != before.ID || len(l.snapshot().LeftoversOf(data)) > 0 {
		t.Fatalf("%+v", got)
	}
	c := l.condition(api.ConditionDegraded)
	want := "pod prod-data." + ordinal + " waits for node n2, which is off: its data (tend-prod-data-data-" + ordinal + ") is there"
	if c.Reason != api.ReasonNodeDown || c.Message != want ||
		!strings.Contains(c.Next, "tend nodes remove n2 lets the pod begin with empty volumes") {
		t.Errorf("%+v\nwant %s", c, want)
	}
	l.returns("n2")
	l.settle()
	if got := l.ordinals()[ordinal]; got.ID == before.ID || got.Node != "n2" ||
		l.condition(api.ConditionReady).Status != api.ConditionTrue {
		t.Errorf("after its return: %+v", got)
	}
}

// A node that answers again before the commit keeps its ordinal from starting elsewhere.
func TestANodeThatReturnsKeepsItsOrdinal(t *testing.T) {
	l := plainSet(t, 2)
	ordinal, before := l.on("n2")
	l.lose("n2")
	l.confirmDown("n2")
	l.before = func(txn store.Txn) {
		for _, op := range txn.Do {
			if strings.HasPrefix(op.Key, records.TasksPrefix) && op.Key != records.TaskKey(before.ID) {
				l.before = nil
				l.returns("n2")
			}
		}
	}
	for l.before != nil {
		_, err := l.look()
		if err != nil && l.before != nil {
			t.Fatal(err)
		}
	}
	if got := l.ordinals()[ordinal]; got.ID != before.ID || len(l.snapshot().LeftoversOf(data)) > 0 {
		t.Errorf("it was replaced all the same: %+v", got)
	}
	l.settle()
	if l.snapshot().Task(before.ID).Exists() || l.condition(api.ConditionReady).Status != api.ConditionTrue {
		t.Errorf("%+v", l.ordinals())
	}
}

// That a node is off doesn't count as a failure of the pods that ran there: they are replaced at once, and nothing is
// turned back.
func TestPodsOfANodeThatIsOffAreReplacedAtOnce(t *testing.T) {
	l := onNodes(t, replicas(4, "web:1"), "n2")
	l.apply(replicas(4, "web:2"))
	l.looks()
	l.silence("n2")
	l.confirmDown("n2")
	for range 3 {
		l.looks()
		if phase := l.status().Rollout.Phase; phase == api.RolloutPaused || phase == api.RolloutRollingBack {
			t.Fatalf("%s: %+v", phase, l.status().Conditions)
		}
		l.place()
	}
	l.settle()
	if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 4}) ||
		l.condition(api.ConditionReady).Status != api.ConditionTrue {
		t.Errorf("%v, %+v", got, l.status().Conditions)
	}
	if l.status().Rollout.TargetRelease != "v2" {
		t.Errorf("%+v", l.status().Rollout)
	}
}

func global(t *testing.T, nodes ...string) *harness {
	spec := replicas(0, "web:1")
	spec.Replicas, spec.Mode = nil, api.ModeGlobal
	return onNodes(t, spec, nodes...)
}

// A global deployment goes on without a node that is off, and has its pod there again when it returns.
func TestAGlobalDeploymentSurvivesANodeThatIsOff(t *testing.T) {
	for name, lost := range map[string]bool{"at once": false, "once it is lost": true} {
		l := global(t, "n2", "n3")
		l.silence("n3")
		if lost {
			l.now = l.now.Add(30 * time.Second)
			l.settle()
		}
		l.confirmDown("n3")
		l.settle()
		if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 1, "n2": 1}) ||
			l.condition(api.ConditionReady).Status != api.ConditionTrue {
			t.Errorf("%s: %v, %+v", name, got, l.status().Conditions)
		}
		l.returns("n3")
		l.looks()
		if l.status().Rollout.Phase == api.RolloutPaused {
			t.Errorf("%s: %+v", name, l.status().Conditions)
		}
		l.settle()
		if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 1, "n2": 1, "n3": 1}) ||
			l.condition(api.ConditionReady).Status != api.ConditionTrue {
			t.Errorf("%s, after its return: %v, %+v", name, got, l.status().Conditions)
		}
	}
}

// If too many nodes are lost at once, a global deployment gives up none of its pods.
func TestTheBrakeHoldsForGlobalDeployments(t *testing.T) {
	l := global(t, "n2", "n3")
	before := l.homes()
	l.lose("n2", "n3")
	if got := l.homes(); !maps.Equal(got, before) {
		t.Errorf("%v, before %v", got, before)
	}
	if c := l.condition(api.ConditionDegraded); c.Reason != api.ReasonEvictionPaused {
		t.Errorf("%+v", c)
	}
	l.returns("n2")
	l.returns("n3")
	l.settle()
	if got := l.homes(); !maps.Equal(got, before) || l.condition(api.ConditionReady).Status != api.ConditionTrue {
		t.Errorf("after their return: %v, before %v", got, before)
	}
}
