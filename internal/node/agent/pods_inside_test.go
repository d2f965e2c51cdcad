package agent

import (
	"net/netip"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// TestPodsFollowTheContainers: what keeps scopes apart is notified of each address that comes, changes or goes, and of
// nothing else.
func TestPodsFollowTheContainers(t *testing.T) {
	known := newContainers(hollow.New(hollow.Options{}), time.Now)
	moved := 0
	known.moved = func() { moved++ }
	a := &Agent{containers: known, watcher: &watcher{}}
	container := func(state runtime.State, address string) runtime.Container {
		return runtime.Container{ID: "c", Labels: map[string]string{api.LabelTask: "t", api.LabelScope: "shop"},
			State: state, Address: address}
	}
	for _, step := range []struct {
		reason string
		next   runtime.Container
		moved  int
		want   string
	}{
		{"a container that is only created has none", container(runtime.StateCreated, ""), 0, ""},
		{"it starts", container(runtime.StateRunning, "10.80.0.2"), 1, "10.80.0.2"},
		{"nothing changes", container(runtime.StateRunning, "10.80.0.2"), 1, "10.80.0.2"},
		{"it starts again elsewhere", container(runtime.StateRunning, "10.80.0.3"), 2, "10.80.0.3"},
		{"it ends, and its address may be given to another", container(runtime.StateExited, "10.80.0.3"), 3, ""},
		{"it shares its node's network", container(runtime.StateRunning, "127.0.0.1"), 4, ""},
	} {
		known.put(step.next)
		pods, _ := a.Pods()
		if step.want == "" && len(pods) > 0 || step.want != "" && pods[netip.MustParseAddr(step.want)] != "shop" ||
			moved != step.moved {
			t.Errorf("%s: %v, moved %d times, want %d", step.reason, pods, moved, step.moved)
		}
	}
	if known.remove("c"); moved != 5 {
		t.Errorf("removed: moved %d times", moved)
	}
	known.put(container(runtime.StateRunning, "10.80.0.2"))
	known.recordEvent(runtime.Event{Kind: runtime.EventDie, Container: "c", Task: "t"})
	if pods, _ := a.Pods(); len(pods) > 0 || moved != 7 {
		t.Errorf("its end was reported: %v, moved %d times", pods, moved)
	}
	others := []runtime.Container{container(runtime.StateRunning, "10.80.0.4"),
		container(runtime.StateExited, "10.80.0.5"), container(runtime.StateRunning, "127.0.0.1")}
	if pods := PodsOf(others); len(pods) != 1 || pods[netip.MustParseAddr("10.80.0.4")] != "shop" {
		t.Errorf("of containers that were listed: %v", pods)
	}
}
