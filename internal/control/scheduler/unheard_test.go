package scheduler

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestPodsWaitForANodeThatIsHeard: a pod is placed as soon as a node that a server hears takes it, also if only the
// server comes back.
func TestPodsWaitForANodeThatIsHeard(t *testing.T) {
	lapse, life := records.Heartbeat{Last: epoch}, records.Heartbeat{Server: "s1", Life: epoch}
	here, later := api.ServerPresence{Since: epoch}, api.ServerPresence{Since: epoch.Add(time.Minute)}
	const silent, gone = "1 of 2 nodes (n1) was last heard at 12:00:00 UTC; 1 of 2 nodes is cordoned",
		"1 of 2 nodes (n1) is heard by no server; 1 of 2 nodes is cordoned"
	for name, test := range map[string]struct {
		reason string
		beat   records.Heartbeat
		server any // what s1 says of itself; nil if it doesn't run
		says   string
		key    string // that lets the pod be placed
		value  any
	}{
		"it beats again": {"after two missed beats", lapse, nil, silent, records.AliveKey("n1"),
			records.Heartbeat{}},
		"another server hears it": {"its own is gone", life, nil, gone, records.AliveKey("n1"),
			records.Heartbeat{}},
		"its server is there again": {"the same life", life, nil, gone, records.ServerKey("s1"), here},
		"the server was started again": {"it hears the node then", life, later, gone, records.AliveKey("n1"),
			records.Heartbeat{Server: "s1", Life: later.Since}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.node("n1", true)
			l.node("n2", true)
			l.release("v1", api.DeploymentSpec{})
			l.write(func(txn *records.Txn) {
				ref := api.Ref{Kind: api.KindNode, Scope: api.Unscoped, Name: "n2"}
				txn.Put(records.ObjectKey(ref), api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
					Spec: []byte(`{"availability":"cordoned"}`)})
				txn.Put(records.AliveKey("n1"), test.beat)
				if test.server != nil {
					txn.Put(records.ServerKey("s1"), test.server)
				}
			})
			l.tasks(1, "v1", nil)
			l.looks()
			if got := l.s.Board.Refusals(l.snapshot())["t0000"].Message; got != test.says || l.on()["n1"] > 0 {
				t.Errorf("%s: %q, want %q; tasks by node: %v", test.reason, got, test.says, l.on())
			}
			l.write(func(txn *records.Txn) { txn.Put(test.key, test.value) })
			if len(l.s.Affected(l.snapshot(), view.Change{Key: test.key})) == 0 {
				t.Errorf("%s: the pod that waits is not looked at", test.reason)
			}
			l.looks()
			if l.on()["n1"] != 1 {
				t.Errorf("%s: then tasks by node are %v", test.reason, l.on())
			}
		})
	}
}
