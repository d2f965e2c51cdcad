package scheduler

import (
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestAPodGoesWhereItsRuntimeIs: on nodes of both kinds, of every kind of object.
func TestAPodGoesWhereItsRuntimeIs(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		spec    api.DeploymentSpec
		runtime string
		nodes   map[string]string // their runtimes
		on      string            // where the pods may be
		says    string
		none    bool
	}{
		"an engine's image": {"plain processes have no such image", api.DeploymentSpec{}, "docker",
			map[string]string{"d": "docker", "p": "process"}, "d", "", false},
		"a folder": {"no engine has it", api.DeploymentSpec{}, "process",
			map[string]string{"d": "docker", "p": "process"}, "p", "", false},
		"a path": {"no engine takes it", api.DeploymentSpec{Container: api.Container{Image: "/srv/web"}}, "",
			map[string]string{"d": "docker", "p": "process"}, "p", "", false},
		"no such node": {"it waits, and says for what", api.DeploymentSpec{}, "docker",
			map[string]string{"p": "process", "q": "process"}, "",
			"no node runs containers, which it needs: its image is one of a container engine", true},
		"the only node": {"the same words", api.DeploymentSpec{Container: api.Container{ReadOnly: true}}, "",
			map[string]string{"p": "process"}, "",
			"no node runs containers, which it needs: plain processes can't have read_only", true},
		"the only one is away": {"one that fits is known", api.DeploymentSpec{}, "docker",
			map[string]string{"p": "process", "away": "docker"}, "",
			"1 of 2 nodes runs plain processes, not containers: its image is one of a container engine; 1 of 2 nodes does not answer", false},
		"unknown": {"a node that never answered may have it", api.DeploymentSpec{}, "docker",
			map[string]string{"n": ""}, "n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			raw, err := json.Marshal(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			l.write(func(txn *records.Txn) {
				for id, runtime := range c.nodes {
					txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Runtime: runtime, Ready: true, CPUs: 4,
						MemoryBytes: 4 << 30})
					if id != "away" {
						txn.Put(records.AliveKey(id), "now")
					}
				}
				txn.Put(records.ReleaseKey(web, "v1"), api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope,
					Name: web.Name, Spec: raw, ImageRuntime: c.runtime})
			})
			l.tasks(6, "v1", nil)
			l.looks()
			for id, n := range l.on() {
				if id != c.on && n > 0 {
					t.Errorf("%s: %d pods on node %q", c.reason, n, id)
				}
			}
			refusal := l.s.Board.Refusals(l.snapshot())["t0000"]
			if refusal.Message != c.says || refusal.NoRuntime != c.none || c.none && refusal.Next == "" {
				t.Errorf("%s: %+v, want %q", c.reason, refusal, c.says)
			}
		})
	}
}

// TestANodeThatChangesItsRuntimeLosesItsPods: its agent was started in an empty root with another --runtime.
func TestANodeThatChangesItsRuntimeLosesItsPods(t *testing.T) {
	l := newHarness(t)
	l.node("n1", true)
	l.write(func(txn *records.Txn) {
		txn.Put(records.ReleaseKey(web, "v1"), api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope, Name: web.Name,
			Spec: []byte("{}"), ImageRuntime: "docker"})
	})
	l.tasks(1, "v1", func(task *api.Task) { task.Node = "n1" })
	task := l.snapshot().Task("t0000").Value
	if why := l.s.Board.Misplaced(l.snapshot(), task)("n1"); why != "" {
		t.Errorf("it may not stay where it was put: %s", why)
	}
	l.write(func(txn *records.Txn) {
		txn.Put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Runtime: "process", Ready: true})
	})
	if why := l.s.Board.Misplaced(l.snapshot(), task)("n1"); !strings.Contains(why,
		"node n1 runs plain processes, not containers") {
		t.Errorf("it may stay: %q", why)
	}
	if refusal := l.s.Board.Elsewhere(l.snapshot(), []*api.Task{task})["t0000"]; !refusal.NoRuntime {
		t.Errorf("%+v", refusal)
	}
	l.node("n2", true)
	if refusal, homeless := l.s.Board.Elsewhere(l.snapshot(), []*api.Task{task})["t0000"]; homeless {
		t.Errorf("no other node takes it: %+v", refusal)
	}
}
