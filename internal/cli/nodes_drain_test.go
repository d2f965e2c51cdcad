package cli

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestDrainOfASilentNode: nobody knows what a node runs that doesn't answer, so drain doesn't say that it has no pods.
func TestDrainOfASilentNode(t *testing.T) {
	ran := api.Pod{Name: "prod-web.a", State: api.TaskRunning, Desired: api.DesiredShutdown, StartedAt: time.Unix(1, 0)}
	ended := api.Pod{Name: "prod-web.b", State: api.TaskShutdown, Desired: api.DesiredShutdown, StartedAt: time.Unix(1, 0)}
	for want, test := range map[string]struct {
		alive bool
		pods  []api.Pod
	}{
		"h2 is drained: it has no pods": {true,
			[]api.Pod{ended}},
		"h2 gets no pods, and does not answer: it had none when it last reported": {false,
			[]api.Pod{ended}},
		"h2 gets no pods, and does not answer: what it ran when it last reported may run there still: prod-web.a": {false,
			[]api.Pod{ended, ran}},
	} {
		node := api.NodeInfo{NodeStatus: api.NodeStatus{ID: "h2"}, Alive: test.alive}
		if got := drainedText(node, test.pods); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
