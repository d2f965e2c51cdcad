package workload

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// joins stores a node that has a runtime, beside n1.
func (l *harness) joins(id, runtime string) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Runtime: runtime, Ready: true}).Put(records.AliveKey(id),
			"now")
	})
}

// TestAnImageIsAskedOfItsRuntime: what only plain processes can run is asked of them alone, and who has found the image
// goes with the release.
func TestAnImageIsAskedOfItsRuntime(t *testing.T) {
	l := newHarness(t)
	l.joins("n2", "process")
	l.images["/srv/web"] = "sha256:f"
	l.apply(replicas(2, "/srv/web"))
	l.looks()
	if got := l.snapshot().ImageRequest(web).Value.Runtime; got != "processes" {
		t.Errorf("asked of %q", got)
	}
	confined := replicas(2, "web:1")
	l.apply(confined)
	l.stamp(api.StampConfined, "true")
	l.looks()
	if got := l.snapshot().ImageRequest(web).Value.Runtime; got != "containers" {
		t.Errorf("what a deployer declared is asked of %q", got)
	}
}

// TestAnAnswerOfAnotherRuntimeCountsForNothing: the node was asked before the manifest said what only containers do.
func TestAnAnswerOfAnotherRuntimeCountsForNothing(t *testing.T) {
	l := newHarness(t)
	l.joins("n2", "process")
	spec := replicas(1, "web:1")
	spec.ReadOnly = true
	l.apply(spec)
	l.looks()
	l.write(func(txn *records.Txn) {
		txn.Put(records.ImageStatusKey("n2", web), api.ImageStatus{Owner: web, Node: "n2", Image: "web:1",
			State: api.ImagePresent, ImageID: "sha256:f", Runtime: "process"})
	})
	l.looks()
	if len(l.snapshot().Releases(web)) > 0 {
		t.Errorf("a release was made from it: %+v", l.snapshot().Releases(web)[0].Value)
	}
	l.settle()
	if got := l.inForce(); got.ImageID != "sha256:1" {
		t.Errorf("%+v", got)
	}
}

// TestNoNodeHasTheRuntime: the object says so, whether its image was found or not, and what serves goes on until a node
// joins.
func TestNoNodeHasTheRuntime(t *testing.T) {
	for name, order := range map[string]string{"start-first": api.OrderStartFirst, "stop-first": api.OrderStopFirst} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			spec := replicas(3, "web:1")
			spec.Strategy.Order = order
			l.apply(spec)
			l.settle()
			serving := l.spread()["n1"]
			next := replicas(3, "/srv/web")
			next.Strategy.Order = order
			l.apply(next)
			l.settle()
			for _, kind := range []string{api.ConditionProgressing, api.ConditionDegraded} {
				if c := l.condition(kind); c.Reason != api.ReasonNoRuntime {
					t.Errorf("%s: %+v", kind, c)
				}
			}
			c := l.condition(api.ConditionDegraded)
			if !strings.HasPrefix(c.Message, "no node runs plain processes, which it needs: its image is a folder (/srv/web)") || c.Next == "" {
				t.Errorf("%+v", c)
			}
			if got := l.spread()["n1"]; got != serving || serving != 3 {
				t.Errorf("%d of %d pods are left", got, serving)
			}
			same := replicas(3, "web:2") // found, and then its nodes have another runtime
			same.Strategy.Order = order
			l.apply(same)
			l.looks()
			l.runAgent()
			l.write(func(txn *records.Txn) {
				txn.Put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Runtime: "process", Ready: true})
			})
			l.settle()
			if c := l.condition(api.ConditionDegraded); c.Reason != api.ReasonNoRuntime ||
				!strings.Contains(c.Message, "no node runs containers") {
				t.Errorf("after the runtime changed: %+v", c)
			}
			if got := l.spread()["n1"]; got != 3 {
				t.Errorf("%d pods are left for a release that no node runs", got)
			}
			l.joins("n2", "docker")
			l.settle()
			if got := l.spread(); got["n2"] != 3 || got["n1"] != 0 {
				t.Errorf("%v once a node has joined", got)
			}
		})
	}
}

// TestAGlobalDeploymentCountsItsOwnNodes: those of another runtime get no pod, and none is waited for.
func TestAGlobalDeploymentCountsItsOwnNodes(t *testing.T) {
	l := newHarness(t)
	l.joins("n2", "process")
	l.joins("n3", "docker")
	spec := replicas(1, "web:1")
	spec.Replicas, spec.Mode = nil, api.ModeGlobal
	l.apply(spec)
	l.settle()
	if got := l.spread(); got["n1"] != 1 || got["n2"] != 0 || got["n3"] != 1 {
		t.Errorf("%v", got)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue || l.status().Replicas != 2 {
		t.Errorf("%d replicas, %+v", l.status().Replicas, c)
	}
}
