package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestAJoinThatFailsLeavesNothing: whatever keeps a server from joining, the existing one continues alone and accepts
// writes, the root is empty again, and the same token is valid for the next attempt.
func TestAJoinThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newMembersWorld(t)
	nodes, err := w.running["a"].client.JoinToken(t.Context(), api.JoinTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := joins(t, nodes, "worker")
	if err != nil {
		t.Fatal(err)
	}
	if err := says(t, worker, "report", `{"node":{"id":"worker","ready":true,"runtime":"docker"}}`); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	token, before := w.serverToken(), w.members()
	for _, test := range []struct {
		reason, says string
		edit         func(*Options)
	}{
		{"its name is another server's", "a server called a is there already", func(o *Options) { o.Name = "a" }},
		{"its node is another server's", "node-a is the node of server a", func(o *Options) { o.Node = "node-a" }},
		{"its node is another machine's", "another machine is node worker", func(o *Options) { o.Node = "worker" }},
		{"nothing answers at its address", "does not reach the one that joins",
			func(o *Options) { o.PeerAddress = loopback() }},
		{"another program answers there", "not the server that joins",
			func(o *Options) { o.PeerAddress = strings.TrimPrefix(token.Address, "https://") }},
		{"its address is taken on its machine", "choose another --peer-listen",
			func(o *Options) { o.PeerListen = taken.Addr().String() }},
		{"a listener of its own is taken, which shows after its store has caught up", "choose another --http",
			func(o *Options) { o.HTTP = taken.Addr().String() }},
		{"its token is invalid", "or was revoked", func(o *Options) { o.Token = token.Token[:len(token.Token)-4] + "AAAA" }},
	} {
		w.machines["b"] = newMachine(t)
		if err := w.joinsWith(token, test.edit); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.says)
		}
		if diff := cmp.Diff(before, w.members()); diff != "" {
			t.Fatalf("%s: the members have changed:\n%s", test.reason, diff)
		}
		if err := w.writes(); err != nil {
			t.Errorf("%s: the cluster takes no writes: %v", test.reason, err)
		}
		for _, left := range []string{"secret.key", "peers/server.json", "peers/authority.pem",
			"state/member", "server", "node"} {
			if _, err := os.Stat(filepath.Join(w.machines["b"].root, left)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %s is in its root: %v", test.reason, left, err)
			}
		}
	}
	if err := w.joinsWith(token, func(*Options) {}); err != nil {
		t.Errorf("once nothing is wrong, in the same root and with the same token: %v", err)
	}
}

// TestWithLag: a server's lag is the number of revisions that another server has and it lacks; the lag of one that
// doesn't answer is unknown.
func TestWithLag(t *testing.T) {
	got := withLag(api.Servers{Items: []api.Server{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
		map[string]int64{"a": 40, "b": 42})
	two, none := int64(2), int64(0)
	want := api.Servers{Items: []api.Server{{Name: "a", Lag: &two}, {Name: "b", Lag: &none}, {Name: "c"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
