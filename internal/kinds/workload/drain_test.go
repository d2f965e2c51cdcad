package workload

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// declare stores what is declared of a node.
func (l *harness) declare(node string, spec api.NodeSpec) {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	l.put(api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: node, Spec: raw})
}

// spread returns how many live pods each node has.
func (l *harness) spread() map[string]int {
	out := map[string]int{}
	for _, node := range l.homes() {
		out[node]++
	}
	return out
}

func TestADrainedNodeEmpties(t *testing.T) {
	l := onNodes(t, replicas(4, "web:1"), "n2")
	if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 2, "n2": 2}) {
		t.Fatalf("%v to begin with", got)
	}
	stays := l.homes()
	maps.DeleteFunc(stays, func(_, node string) bool { return node == "n2" })
	l.declare("n2", api.NodeSpec{Availability: api.NodeDrained})
	l.settle()
	if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 4}) {
		t.Errorf("%v once it is drained", got)
	}
	for task := range stays {
		if l.homes()[task] != "n1" {
			t.Errorf("%s was on the other node, and is gone", task)
		}
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue || l.status().Release != "v1" {
		t.Errorf("%+v, release %s", c, l.status().Release)
	}
	l.declare("n2", api.NodeSpec{})
	l.settle()
	if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 4}) {
		t.Errorf("%v once it takes pods again; what runs stays", got)
	}
}

// A pod that no other node takes stays, and the object says why. It is ready all the same.
func TestAPodThatHasNowhereToGoStays(t *testing.T) {
	for name, test := range map[string]struct {
		spec func(*api.DeploymentSpec)
		says string
	}{
		"Data": {func(s *api.DeploymentSpec) { s.Volumes = []string{"uploads:/data"} },
			"(uploads is on node n1)"},
		"Constraint": {func(s *api.DeploymentSpec) { s.Placement = &api.Placement{Constraints: []string{"node.id == n1"}} }, "node.id == n1"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := replicas(1, "web:1")
			test.spec(&spec)
			l := onNodes(t, spec, "n2")
			before := l.homes()
			l.declare("n1", api.NodeSpec{Availability: api.NodeDrained})
			l.settle()
			c := l.condition(api.ConditionReady)
			if !cmp.Equal(before, l.homes()) || c.Status != api.ConditionTrue ||
				!strings.Contains(c.Message, "stays where it is, although node n1 is drained") ||
				!strings.Contains(c.Message, test.says) {
				t.Errorf("%v before, %v now: %+v", before, l.homes(), c)
			}
		})
	}
}

// A volume's data is where its first pod was, also after the deployment was deleted. Shared storage has no home.
func TestDataHasAHome(t *testing.T) {
	spec := replicas(1, "web:1")
	spec.Volumes = []string{"uploads:/data"}
	l := onNodes(t, spec, "n2")
	home := slices.Collect(maps.Values(l.homes()))[0]
	l.delete()
	l.settle()
	l.apply(replicas(3, "web:1")) // others, which leave the home the fullest
	l.settle()
	l.apply(spec)
	l.settle()
	if got := l.spread(); !maps.Equal(got, map[string]int{home: 1}) {
		t.Errorf("%v; its data is on %s", got, home)
	}
	spec.Replicas = nil
	three := 3
	spec.Replicas, spec.Placement = &three, &api.Placement{SharedStorage: true}
	l.apply(spec)
	l.settle()
	if got := l.spread(); len(got) != 2 {
		t.Errorf("%v on shared storage", got)
	}
}

func TestAGlobalDeploymentFollowsTheNodes(t *testing.T) {
	spec := replicas(0, "web:1")
	spec.Replicas, spec.Mode = nil, api.ModeGlobal
	l := onNodes(t, spec, "n2")
	each := func(when string, nodes ...string) {
		t.Helper()
		l.settle()
		want := map[string]int{}
		for _, node := range nodes {
			want[node] = 1
		}
		if got := l.spread(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want one pod on each of %v", when, got, nodes)
		}
		if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
			t.Errorf("%s: %+v", when, c)
		}
	}
	each("at first", "n1", "n2")
	l.join("n3")
	each("a node joins", "n1", "n2", "n3")
	l.declare("n2", api.NodeSpec{Availability: api.NodeDrained})
	l.looks()
	if staying := l.status().Staying; len(staying) > 0 {
		t.Errorf("a pod that ends is said to stay: %+v", staying)
	}
	each("one is drained", "n1", "n3")
	l.declare("n1", api.NodeSpec{Availability: api.NodeCordoned})
	each("one is cordoned, and keeps its pod", "n1", "n3")
	l.declare("n2", api.NodeSpec{Labels: map[string]string{"disk": "ssd"}})
	each("it takes pods again", "n1", "n2", "n3")
	spec.Image = "web:2"
	l.apply(spec)
	l.declare("n1", api.NodeSpec{})
	each("another release", "n1", "n2", "n3")
	spec.Placement = &api.Placement{Constraints: []string{"node.labels.disk == ssd"}}
	l.apply(spec)
	each("a constraint", "n2")
}
