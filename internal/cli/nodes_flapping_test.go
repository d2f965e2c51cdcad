package cli

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

func TestAFlappingNodeIsShown(t *testing.T) {
	until := time.Date(2030, 1, 1, 12, 34, 0, 0, time.Local)
	node := api.NodeInfo{NodeStatus: api.NodeStatus{ID: "n1", Ready: true}, Alive: true,
		Losses: &api.NodeLosses{At: make([]time.Time, 3), Until: until}}
	if got := nodeState(node); got != "flapping" {
		t.Errorf("state %s", got)
	}
	if got := takesText(node); !strings.Contains(got,
		"no new pods until 12:34:00 (lost 3 times within an hour; tend uncordon n1)") {
		t.Errorf("takes: %s", got)
	}
	if node.Losses.Until = (time.Time{}); nodeState(node) != "ready" || takesText(node) != "" {
		t.Errorf("once it is over: %s, takes %q", nodeState(node), takesText(node))
	}
}

// TestASilentNodeIsShown: a node that is up, as far as anyone knows, and that no server hears.
func TestASilentNodeIsShown(t *testing.T) {
	node := api.NodeInfo{NodeStatus: api.NodeStatus{ID: "n1", Ready: true}, Alive: true, Unheard: true}
	if nodeState(node) != "silent" || takesText(node) != "no new pods (it is heard by no server)" {
		t.Errorf("%s, takes %q", nodeState(node), takesText(node))
	}
	node.LastHeard = time.Now().Add(-12 * time.Second)
	if got := takesText(node); got != "no new pods (it was last heard 12s ago)" {
		t.Errorf("takes %q", got)
	}
	if node.Alive = false; nodeState(node) != "down" {
		t.Errorf("later: %s", nodeState(node))
	}
}

// TestNoNodes: where no node is known yet, people learn that one comes by itself.
func TestNoNodes(t *testing.T) {
	for name, list := range map[string]func(*app) error{
		"nodes": func(a *app) error { return nodeListing(nil).write(a.streams, "") },
		"disks": func(a *app) error { return a.printDisks(api.ListResult[api.NodeDisk]{}) },
	} {
		var out, err strings.Builder
		if failed := list(&app{streams: streams{out: &out, err: &err}}); failed != nil {
			t.Fatal(failed)
		}
		if text := out.String() + err.String(); !strings.Contains(text, "within seconds, so look again") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
