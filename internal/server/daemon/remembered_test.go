package daemon

import (
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestAServerRemembersWhereItListens: the flags of the addresses are needed once, and another server joins through the
// one that was restarted without them. Its ports are no pod's also then.
func TestAServerRemembersWhereItListens(t *testing.T) {
	s := newSeveral(t, "a", "b")
	gate := strings.TrimSuffix(loopback(), ":2380") + ":8688"
	a := s.startWith("a", func(o *Options) { o.PeerListen, o.NodeListen = loopback(), gate })
	a.stop()
	var opened *daemon
	again := s.startWith("a", func(o *Options) { o.NodeListen, o.opened = "", func(d *daemon) { opened = d } })
	if ports := opened.tendPorts(); !slices.Contains(ports, 2380) || !slices.Contains(ports, 8688) {
		t.Errorf("the ports of the restarted server: %v", ports)
	}
	token, err := again.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil || token.Address != gate {
		t.Errorf("others join at %q, want %q: %v", token.Address, gate, err)
	}
	s.start("b", "a")
}
