package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/runtime"
)

// TestAServerBecomesAnAgent: the machine of a removed server continues as a node only, with the same root. Its
// containers stay as they are, and it gets new ones.
func TestAServerBecomesAnAgent(t *testing.T) {
	t.Parallel()
	w := newMembersWorld(t)
	a := w.running["a"]
	if err := w.joinsWith(w.serverToken(), func(*Options) {}); err != nil {
		t.Fatal(err)
	}
	there := func(n int) func(*api.DeploymentSpec) {
		return func(spec *api.DeploymentSpec) {
			spec.Replicas, spec.Placement = &n, &api.Placement{Constraints: []string{"node.id == node-b"}}
		}
	}
	w.machines["b"].engine.AddImage("web:1")
	a.converged(web, a.apply(manifestOf(web, there(2))))
	engine := w.machines["b"].engine.Client(w.a.cluster.UID, "node-b")
	before, err := engine.List(t.Context())
	if err != nil || len(before) != 2 {
		t.Fatalf("%v, %v", before, err)
	}
	_, err = a.client.RemoveServer(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "a is this server itself") {
		t.Errorf("it removes itself: %v", err)
	}
	if _, err := a.client.RemoveServer(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	_ = w.running["b"].ended()
	ctx, cancel := context.WithCancel(t.Context())
	done := w.agent(ctx)
	defer func() { cancel(); <-done }()
	a.untilWithin(patience, "its node is connected", func() bool {
		select {
		case err := <-done:
			done <- err
			t.Fatal(err)
		default:
		}
		nodes, err := a.client.Nodes(t.Context())
		return err == nil && slices.ContainsFunc(nodes.Items, func(n api.NodeInfo) bool {
			return n.ID == "node-b" && n.Ready && n.Alive && n.Role != api.NodeOfServer
		})
	})
	revision := a.apply(manifestOf(web, there(3)))
	a.untilWithin(time.Minute, "the agent starts a third", func() bool {
		status, ok := a.status(web)
		return ok && status.ObservedRevision >= revision && status.Ready == 3
	})
	after, err := engine.List(t.Context())
	for _, c := range before {
		if err != nil || !slices.ContainsFunc(after,
			func(other runtime.Container) bool { return other.ID == c.ID && other.State == c.State }) {
			t.Errorf("the container %s is another one: %v, %v", c.Name, after, err)
		}
	}
	if state := membership.StateOf(w.a.serverList(), "b"); state != membership.Absent {
		t.Errorf("b is %s", state)
	}
}
