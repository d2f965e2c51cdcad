package workload

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// onNodes returns a harness with nodes, and a workload that has settled on them.
func onNodes(t *testing.T, spec api.DeploymentSpec, nodes ...string) *harness {
	l := newHarness(t)
	l.join(nodes...)
	l.apply(spec)
	l.settle()
	return l
}

func (l *harness) join(nodes ...string) {
	l.Helper()
	for _, node := range nodes {
		l.write(func(txn *records.Txn) {
			txn.Put(records.NodeKey(node), api.NodeStatus{ID: node, Runtime: "hollow",
				Ready: true}).Put(records.AliveKey(node), "now")
		})
	}
}

// silence cuts nodes off, and lets the controller notice.
func (l *harness) silence(nodes ...string) {
	l.Helper()
	for _, node := range nodes {
		l.cut[node] = true
		l.write(func(txn *records.Txn) { txn.Delete(records.AliveKey(node)) })
	}
	l.looks()
}

// returns lets a node answer again.
func (l *harness) returns(node string) {
	l.Helper()
	delete(l.cut, node)
	l.write(func(txn *records.Txn) { txn.Put(records.AliveKey(node), "again") })
}

// homes returns the nodes of the live tasks, by task.
func (l *harness) homes() map[string]string {
	out := map[string]string{}
	for _, task := range l.live() {
		out[task.ID] = task.Node
	}
	return out
}

func TestALostPodIsReplacedElsewhere(t *testing.T) {
	l := onNodes(t, replicas(2, "web:1"), "n2")
	before := l.homes()
	l.silence("n2")
	result := l.looks()
	if result.After != 30*time.Second || !cmp.Equal(l.homes(), before) {
		t.Fatalf("again in %s, %v; want patience for the node timeout", result.After, l.homes())
	}
	l.now = l.now.Add(29 * time.Second)
	if dirty := l.c.Dirty(l.now); len(dirty) > 0 {
		t.Error("there is something to do before the timeout")
	}
	l.now = l.now.Add(time.Second)
	if dirty := l.c.Dirty(l.now); len(dirty) != 1 {
		t.Error("a lost pod goes unnoticed without an event")
	}
	l.commits = nil
	l.looks()
	if len(l.commits) != 1 || slices.Contains(slices.Collect(maps.Values(l.homes())), "") {
		t.Fatalf("%d commits, %v; want one, with the nodes of the new pods", len(l.commits), l.homes())
	}
	if c := l.condition(api.ConditionDegraded); c.Reason != api.ReasonNodeLost ||
		c.Message != "node n2 does not answer; its pods are replaced on other nodes" {
		t.Errorf("%+v", c)
	}
	l.settle()
	for task, node := range l.homes() {
		if node != "n1" {
			t.Errorf("task %s is live on %s", task, node)
		}
	}
	if c := l.condition(api.ConditionReady); len(l.homes()) != 2 || c.Status != api.ConditionTrue {
		t.Errorf("%v; %+v", l.homes(), c)
	}
	for _, task := range l.snapshot().TasksOf(web) {
		if task.Value.Node == "n2" && (task.Value.Desired != api.DesiredShutdown ||
			task.Value.Reason != api.ReasonNodeLost) {
			t.Errorf("the lost task: %+v", *task.Value)
		}
	}
	after := l.homes()
	l.returns("n2")
	l.settle()
	if tasks := l.snapshot().TasksOf(web); len(tasks) != 2 || !cmp.Equal(l.homes(), after) {
		t.Errorf("%d tasks are left after its return, %v live", len(tasks), l.homes())
	}
}

// A node that was down and answers again takes pods as any other does.
func TestANodeThatReturnsGetsPods(t *testing.T) {
	l := onNodes(t, replicas(2, "web:1"), "n2")
	l.silence("n2")
	l.now = l.now.Add(30 * time.Second)
	l.apply(replicas(4, "web:1"))
	l.settle()
	if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 4}) {
		t.Errorf("%v while it is down", got)
	}
	l.returns("n2")
	l.apply(replicas(8, "web:1"))
	l.settle()
	if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 4, "n2": 4}) {
		t.Errorf("%v once it is back", got)
	}
}

// The pods of a node that was removed are replaced on the nodes that are left.
func TestThePodsOfARemovedNodeMove(t *testing.T) {
	l := onNodes(t, replicas(4, "web:1"), "n2")
	l.cut["n2"] = true
	l.write(func(txn *records.Txn) { txn.Delete(records.NodeKey("n2")).Delete(records.AliveKey("n2")) })
	l.looks()
	l.now = l.now.Add(30 * time.Second)
	l.settle()
	if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 4}) {
		t.Errorf("%v once it is removed", got)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

// With nowhere to go, a pod stays as it is, and when its node is back nothing has changed.
func TestOnOneMachineNothingIsReplaced(t *testing.T) {
	l := onNodes(t, replicas(2, "web:1"))
	before := l.snapshot().TasksOf(web)
	l.silence("n1")
	l.now = l.now.Add(time.Minute)
	l.settle()
	want := "node n1 does not answer; its pods may run there still"
	if c := l.condition(api.ConditionDegraded); c.Reason != api.ReasonNodeLost || c.Message != want ||
		!strings.Contains(c.Next, "n1") {
		t.Errorf("%+v", c)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionFalse || c.Message != "0 of 2 replicas ready" {
		t.Errorf("%+v", c)
	}
	l.returns("n1")
	l.settle()
	if diff := cmp.Diff(before, l.snapshot().TasksOf(web)); diff != "" {
		t.Error(diff)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

// A pod on another node would find its volume empty: it waits for the node that has the data.
func TestAPodWaitsForTheNodeWithItsData(t *testing.T) {
	for name, test := range map[string]struct {
		volumes []string
		stays   bool
	}{
		"Volume":   {[]string{"uploads:/data"}, true},
		"Folder":   {[]string{"/srv/uploads:/data"}, true},
		"ReadOnly": {[]string{"/etc/ssl/certs:/certs:ro,z"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := replicas(2, "web:1")
			spec.Volumes = test.volumes
			l := onNodes(t, spec, "n2")
			before := l.homes()
			l.silence(slices.Sorted(maps.Values(before))[1])
			l.now = l.now.Add(time.Minute)
			l.settle()
			if got := cmp.Equal(before, l.homes()); got != test.stays {
				t.Errorf("%v before, %v now", before, l.homes())
			}
			if c := l.condition(api.ConditionDegraded); test.stays &&
				!strings.Contains(c.Message, "their data ("+strings.Split(test.volumes[0], ":")[0]+") is there") {
				t.Errorf("%+v", c)
			}
		})
	}
}

// The release in force keeps its data in a volume, and the manifest that drops the volume waits for its command.
func TestAPodWaitsForTheDataOfItsRelease(t *testing.T) {
	spec := replicas(2, "web:1")
	spec.Volumes = []string{"uploads:/data"}
	l := onNodes(t, spec, "n2")
	before := l.homes()
	cut := slices.Collect(maps.Values(before))[0]
	next := replicas(2, "web:1")
	next.Release = &api.ReleaseHooks{PreCommand: []string{"migrate"}}
	l.apply(next)
	l.silence(cut)
	l.now = l.now.Add(time.Minute)
	l.looks()
	for task, node := range before { // beside them there is the command's
		if l.homes()[task] != node {
			t.Errorf("%v before, %v now", before, l.homes())
		}
	}
}

// Another node that can't take the pods doesn't count.
func TestANodeThatIsFullTakesNothing(t *testing.T) {
	l := newHarness(t)
	l.write(func(txn *records.Txn) {
		txn.Put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Runtime: "hollow", Ready: true, MemoryBytes: 1 << 30})
	})
	l.join("n2")
	spec := replicas(1, "web:1")
	spec.Resources = &api.Resources{Limits: &api.ResourceLimits{Memory: "2Gi"}}
	l.apply(spec)
	l.settle()
	before := l.homes()
	l.silence("n2")
	l.now = l.now.Add(time.Minute)
	l.settle()
	want := "node n2 does not answer, and no other node takes its pods: 1 of 2 nodes does not answer; 1 of 2 nodes lacks memory (2Gi asked)"
	if c := l.condition(api.ConditionDegraded); c.Message != want || !cmp.Equal(before, l.homes()) {
		t.Errorf("%v before, %v now: %+v", before, l.homes(), c)
	}
}

// The heartbeat comes back between the decision and its commit.
func TestAHeartbeatOnTheWayKeepsThePod(t *testing.T) {
	l := onNodes(t, replicas(2, "web:1"), "n2")
	before := l.homes()
	l.silence("n2")
	l.now = l.now.Add(time.Minute)
	l.before = func(store.Txn) {
		l.before = nil
		l.returns("n2")
	}
	if _, err := l.look(); !errors.Is(err, store.ErrConflict) {
		t.Errorf("%v; want a conflict", err)
	}
	l.settle()
	if !cmp.Equal(before, l.homes()) {
		t.Errorf("%v before, %v now", before, l.homes())
	}
}

func TestTooManyNodesAtOnceAreHeld(t *testing.T) {
	l := onNodes(t, replicas(3, "web:1"), "n2", "n3")
	before := l.homes()
	l.silence("n2", "n3")
	l.now = l.now.Add(time.Minute)
	l.settle()
	want := "2 of 3 nodes stopped answering at about the same time: their pods are not replaced until more of them answer"
	if c := l.condition(api.ConditionDegraded); c.Reason != api.ReasonEvictionPaused || c.Message != want ||
		!cmp.Equal(before, l.homes()) {
		t.Errorf("%v before, %v now: %+v", before, l.homes(), c)
	}
	l.returns("n3")
	l.settle()
	for task, node := range l.homes() {
		if node == "n2" || before[task] == "n3" && node != "n3" {
			t.Errorf("task %s on %s", task, node)
		}
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

func TestADryRunShowsWhereLostPodsGo(t *testing.T) {
	l := onNodes(t, replicas(2, "web:1"), "n2")
	l.silence("n2")
	l.now = l.now.Add(time.Minute)
	planned, err := l.c.Preview(l.snapshot(), *l.snapshot().Object(web).Value)
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for _, action := range planned {
		verbs = append(verbs, action.Verb)
	}
	if diff := cmp.Diff([]string{"shutdown", "create"}, verbs); diff != "" {
		t.Error(diff)
	}
}

// An ordinal waits for its node: two containers of one ordinal never overlap.
func TestALostOrdinalWaits(t *testing.T) {
	l := newHarness(t)
	l.c, l.ref = newController(l.c.Deps, api.KindStatefulSet, l.liveness), data
	l.join("n2", "n3")
	l.applySet(3, "web:1")
	l.settle()
	before := l.snapshot().TasksOf(l.ref)
	lost := ""
	for _, task := range before {
		if task.Value.Slot == "1" {
			lost = task.Value.Node
		}
	}
	l.silence(lost)
	l.now = l.now.Add(time.Hour)
	l.settle()
	if diff := cmp.Diff(before, l.snapshot().TasksOf(l.ref)); diff != "" {
		t.Error(diff)
	}
	want := "pod prod-data.1 waits for node " + lost + ", which does not answer"
	if c := l.condition(api.ConditionDegraded); c.Reason != api.ReasonNodeLost || !strings.HasPrefix(c.Message, want) {
		t.Errorf("%+v", c)
	}
}

// A release command runs once: with its node it fails, and its container stops when the node returns.
func TestAReleaseCommandFailsWithItsNode(t *testing.T) {
	l := newHarness(t)
	l.does["v1-command"] = hangs
	l.apply(released(1, "web:1"))
	l.untilHeld()
	l.silence("n1")
	l.now = l.now.Add(30 * time.Second)
	l.looks()
	run := l.snapshot().Run(web, "v1-command").Value
	if run.State != api.RunFailed || run.Reason != api.ReasonNodeLost {
		t.Errorf("%+v", *run)
	}
	for _, task := range l.snapshot().TasksOf(web) {
		if task.Value.Slot == "v1-command" && (task.Value.Desired != api.DesiredShutdown ||
			task.Value.Reason != api.ReasonNodeLost) {
			t.Errorf("%+v", *task.Value)
		}
	}
}
