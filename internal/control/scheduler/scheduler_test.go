package scheduler

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

func TestPlacesAllInOneCommit(t *testing.T) {
	l := newHarness(t)
	l.node("n1", true)
	l.node("n2", true)
	l.tasks(6, "v1", nil)
	result := l.looks()
	if want := map[string]int{"n1": 3, "n2": 3}; !maps.Equal(l.on(), want) {
		t.Errorf("tasks by node: %v, want %v", l.on(), want)
	}
	if len(l.commits) != 1 || result.Revision == 0 || result.After != 0 {
		t.Errorf("%d commits, %+v", len(l.commits), result)
	}
	if again := l.looks(); again.Revision != 0 || len(l.commits) != 1 {
		t.Errorf("a second look wrote: %+v", again)
	}
}

// Only the node of a task is written, and only if it has none.
func TestFillsNodeAlone(t *testing.T) {
	l := newHarness(t)
	l.node("n1", true)
	l.tasks(3, "v1", func(task *api.Task) {
		switch task.ID {
		case "t0001":
			task.Node = "n9" // a node that is gone: the scheduler doesn't handle that
		case "t0002":
			task.Desired = api.DesiredShutdown
		}
	})
	before := *l.snapshot().Task("t0000").Value
	l.looks()
	if want := map[string]int{"n1": 1, "n9": 1, "": 1}; !maps.Equal(l.on(), want) {
		t.Errorf("tasks by node: %v, want %v", l.on(), want)
	}
	after := *l.snapshot().Task("t0000").Value
	if before.Node = "n1"; before != after {
		t.Errorf("it wrote more than the node: %+v", after)
	}
}

// If something changed between read and commit, the commit fails and nothing is placed by the old snapshot.
func TestConflictPlacesNothing(t *testing.T) {
	for name, change := range map[string]func(*records.Txn, records.Read[api.Task]){
		"stopped meanwhile": func(txn *records.Txn, read records.Read[api.Task]) {
			txn.RaiseTask(read, api.DesiredShutdown, "scaled down", epoch)
		},
		"gone meanwhile": func(txn *records.Txn, read records.Read[api.Task]) {
			txn.Delete(records.TaskKey(
				read.Value.ID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.node("n1", true)
			l.tasks(3, "v1", nil)
			l.before = func() { l.write(func(txn *records.Txn) { change(txn, l.snapshot().Task("t0001")) }) }
			if _, err := l.s.Reconcile(context.Background(), key); !errors.Is(err, store.ErrConflict) {
				t.Fatalf("%v", err)
			}
			if l.on()["n1"] != 0 {
				t.Errorf("tasks by node: %v", l.on())
			}
			if l.looks(); l.on()["n1"] != 2 {
				t.Errorf("after another look: %v", l.on())
			}
		})
	}
}

func TestManyTasksTakeSeveralCommits(t *testing.T) {
	const n = 1000 + 200 // one commit places 1000
	l := newHarness(t)
	l.node("n1", true)
	l.tasks(n, "v1", nil)
	if result := l.looks(); l.on()["n1"] != 1000 || result.After != time.Millisecond {
		t.Fatalf("first commit: %v, %+v", l.on(), result)
	}
	if result := l.looks(); l.on()["n1"] != n || result.After != 0 {
		t.Errorf("second commit: %v, %+v", l.on(), result)
	}
}

// The reason why a task is not placed is readable by people.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		reason  string
		prepare func(*harness)
		says    string
	}{
		"no node": {"no machine has joined", func(*harness) {}, "no node has joined yet"},
		"dead": {"a node without a heartbeat takes nothing", func(l *harness) { l.node("n1", false) },
			"node n1 does not answer"},
		"engine away": {"nor one whose engine is away", func(l *harness) {
			l.node("n1", true)
			l.write(func(txn *records.Txn) {
				txn.Put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Message: "the engine does not answer"})
			})
		}, "node n1 is not ready: the engine does not answer"},
		"memory": {"a limit is kept free", func(l *harness) {
			l.node("n1", true)
			l.release("v1", api.DeploymentSpec{Container: api.Container{Resources: &api.Resources{
				Limits: &api.ResourceLimits{Memory: "8Gi"}}}})
		}, "no node has 8Gi of memory; n1 has 4Gi"},
		"cores": {"so are cores", func(l *harness) {
			l.node("n1", true)
			l.release("v1", api.DeploymentSpec{Container: api.Container{Resources: &api.Resources{
				Limits: &api.ResourceLimits{CPU: "8"}}}})
		}, "no node has 8 cores; n1 has 4"},
		"port": {"a fixed port is held by one container a node", func(l *harness) {
			l.node("n1", true)
			l.release("v1", api.DeploymentSpec{Ports: []string{"8080:80"}})
		}, "port 8080 of node n1 is held by prod-web.s0"},
		"port by a flag": {"docker_options fix ports as well", func(l *harness) {
			l.node("n1", true)
			l.release("v1", api.DeploymentSpec{Container: api.Container{DockerOptions: []string{"-p", "8080:80"}}})
		}, "port 8080 of node n1 is held by prod-web.s0"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			test.prepare(l)
			l.tasks(2, "v1", nil)
			l.looks()
			if got := l.s.Board.Refusals(l.snapshot())["t0001"]; got.Message != test.says {
				t.Errorf("%s: %q, want %q", test.reason, got.Message, test.says)
			}
			if dirty := l.s.Dirty(epoch); len(dirty) != 0 {
				t.Errorf("%s: it is due again for what fits nowhere", test.reason)
			}
		})
	}
}

// A heartbeat that comes back places the waiting tasks.
func TestPlacesOnceTheNodeIsBack(t *testing.T) {
	l := newHarness(t)
	l.node("n1", false)
	l.tasks(1, "v1", nil)
	l.looks()
	if len(l.commits) != 0 {
		t.Fatalf("it was placed on a node that doesn't answer: %v", l.on())
	}
	l.write(func(txn *records.Txn) { txn.Put(records.AliveKey("n1"), "now") })
	if dirty := l.s.Dirty(epoch); len(dirty) != 1 {
		t.Errorf("dirty: %v", dirty)
	}
	if l.looks(); l.on()["n1"] != 1 {
		t.Errorf("tasks by node: %v", l.on())
	}
}

// Stop-first: the successor may have the port its predecessor still holds, since it starts only after that has stopped.
func TestSuccessorTakesThePortOver(t *testing.T) {
	l := newHarness(t)
	l.node("n1", true)
	l.release("v1", api.DeploymentSpec{Ports: []string{"8080:80"}})
	l.tasks(1, "v1", nil)
	l.looks()
	next := api.Task{
		ID: "next", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "next", Release: "v1", Replaces: "s0",
		After:   "t0000",
		Desired: api.DesiredRunning, CreatedAt: epoch.Add(time.Hour),
	}
	l.write(func(txn *records.Txn) {
		txn.RaiseTask(l.snapshot().Task("t0000"), api.DesiredShutdown, "replaced", epoch).CreateTask(next)
	})
	if l.looks(); l.snapshot().Task("next").Value.Node != "n1" {
		t.Errorf("refused: %+v", l.s.Board.Refusals(l.snapshot())["next"])
	}
}

// Start-first with a fixed port: the refusal says that the task would fit if the old one were gone.
func TestCrowdedBesideItsPredecessor(t *testing.T) {
	l := newHarness(t)
	l.node("n1", true)
	l.release("v1", api.DeploymentSpec{Ports: []string{"8080:80"}})
	l.tasks(1, "v1", nil)
	l.looks()
	l.write(func(txn *records.Txn) {
		txn.CreateTask(api.Task{
			ID: "next", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "next", Release: "v1", Replaces: "s0",
			Desired: api.DesiredRunning, CreatedAt: epoch.Add(time.Hour),
		})
	})
	if got := l.s.Board.Refusals(l.snapshot())["next"]; !got.Crowded {
		t.Errorf("%+v", got)
	}
}

func TestAffected(t *testing.T) {
	for name, test := range map[string]struct {
		change view.Change
		want   bool
	}{
		"a task waits":        {view.Change{New: &api.Task{Desired: api.DesiredRunning}}, true},
		"a task has its node": {view.Change{New: &api.Task{Desired: api.DesiredRunning, Node: "n1"}}, false},
		"a task isn't wanted": {view.Change{New: &api.Task{Desired: api.DesiredShutdown}}, false},
		"a task ended":        {view.Change{New: &api.TaskStatus{State: api.TaskFailed}}, true},
		"a task runs":         {view.Change{New: &api.TaskStatus{State: api.TaskRunning}}, false},
		"a node":              {view.Change{New: &api.NodeStatus{}}, true},
		"a heartbeat begins":  {view.Change{Key: records.AliveKey("n1"), New: []byte("now")}, true},
		"a heartbeat ends":    {view.Change{Key: records.AliveKey("n1"), Old: []byte("now"), Deleted: true}, true},
		"a node's object":     {view.Change{New: &api.Object{Kind: api.KindNode}}, true},
		"a workload":          {view.Change{New: &api.Object{Kind: api.KindDeployment}}, true},
		"an asset":            {view.Change{New: &api.Object{Kind: api.KindAsset}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len((&Scheduler{}).Affected(records.Snapshot{}, test.change)) == 1; got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// A task whose release is gone has no demands that could be checked, and does not block the others.
func TestUnknownReleaseAsksForNothing(t *testing.T) {
	l := newHarness(t)
	l.node("n1", true)
	l.release("v1", api.DeploymentSpec{})
	l.tasks(2, "v1", func(task *api.Task) {
		if task.ID == "t0000" {
			task.Release = "v0"
		}
	})
	if l.looks(); l.on()["n1"] != 2 {
		t.Errorf("tasks by node: %v, refused: %v", l.on(), l.s.Board.Refusals(l.snapshot()))
	}
	if strings.Join(keysOf(l), " ") != "schedule//all" {
		t.Errorf("%v", keysOf(l))
	}
}

func keysOf(l *harness) (out []string) {
	for _, k := range l.s.Keys() {
		out = append(out, k.String())
	}
	return out
}
