package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestPodsWaitForANodeThatIsHeard: of two nodes that are silent, the first that a server hears gets the pod, also if
// only the server comes back.
func TestPodsWaitForANodeThatIsHeard(t *testing.T) {
	lapse, life := records.Heartbeat{Last: epoch}, records.Heartbeat{Server: "s1", Life: epoch}
	here, later := api.ServerPresence{Since: epoch}, api.ServerPresence{Since: epoch.Add(time.Minute)}
	const silent, awaited = "2 of 2 nodes have missed two heartbeats",
		"2 of 2 nodes have not been heard since their server was started"
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
		"another server hears it": {"its own is gone", life, nil, silent, records.AliveKey("n1"),
			records.Heartbeat{}},
		"its server is there again": {"the same life", life, nil, silent, records.ServerKey("s1"), here},
		"the server was started again": {"it hears the node then", life, later, awaited, records.AliveKey("n1"),
			records.Heartbeat{Server: "s1", Life: later.Since}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.node("n1", true)
			l.node("n2", true)
			l.release("v1", api.DeploymentSpec{})
			l.write(func(txn *records.Txn) {
				txn.Put(records.AliveKey("n2"), lapse)
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

// TestPodsWaitForTheNodesOfAServerThatWasStartedAgain: the first node that it hears doesn't get all pods, unless the
// others are silent for long enough; nor if the server was alone, and is one of several now.
func TestPodsWaitForTheNodesOfAServerThatWasStartedAgain(t *testing.T) {
	before, now := records.Heartbeat{Life: epoch}, records.Heartbeat{Life: epoch.Add(time.Minute)}
	silent := before
	silent.Unheard = true
	named := now
	named.Server = "s1"
	for name, test := range map[string]struct {
		now  records.Heartbeat // of the server that was started again
		beat records.Heartbeat // what is stored of n2 at last
		want map[string]int
	}{
		"it beats":                 {now, now, map[string]int{"n1": 2, "n2": 2}},
		"silent":                   {now, silent, map[string]int{"n1": 4}},
		"it beats, one of several": {named, named, map[string]int{"n1": 2, "n2": 2}},
		"silent, one of several":   {named, silent, map[string]int{"n1": 4}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			now := test.now
			if l.s.Board = board.NewOf(now.Life); now.Server != "" {
				l.s.Board = board.New()
				l.write(func(txn *records.Txn) { txn.Put(records.ServerKey(now.Server), api.ServerPresence{Since: now.Life}) })
			}
			l.node("n1", true)
			l.node("n2", true)
			l.release("v1", api.DeploymentSpec{})
			beats := func(node string, beat records.Heartbeat) {
				l.write(func(txn *records.Txn) { txn.Put(records.AliveKey(node), beat) })
				l.looks()
			}
			beats("n1", before)
			beats("n2", before)
			l.tasks(4, "v1", nil)
			l.looks()
			if diff := cmp.Diff(map[string]int{"": 4}, l.on()); diff != "" {
				t.Error("before any node was heard:", diff)
			}
			beats("n1", now)
			if diff := cmp.Diff(map[string]int{"": 4}, l.on()); diff != "" {
				t.Error("once the first one was heard:", diff)
			}
			if reason := l.s.Board.Refusals(l.snapshot())["t0000"].Reason(); reason != api.ReasonWaitingForHeartbeat {
				t.Error("they wait for", reason)
			}
			beats("n2", test.beat)
			if diff := cmp.Diff(test.want, l.on()); diff != "" {
				t.Error("then:", diff)
			}
		})
	}
}
