package daemon

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestAServerRemembersWhereItListens: the flags of the addresses are needed once, and another server joins through the
// one that was restarted without them.
func TestAServerRemembersWhereItListens(t *testing.T) {
	s := newSeveral(t, "a", "b")
	gate := strings.TrimSuffix(loopback(), ":2380") + ":8688"
	a := s.startWith("a", func(o *Options) { o.PeerListen, o.NodeListen = loopback(), gate })
	a.stop()
	again := s.startWith("a", func(o *Options) { o.NodeListen = "" })
	token, err := again.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil || token.Address != gate {
		t.Errorf("others join at %q, want %q: %v", token.Address, gate, err)
	}
	s.start("b", "a")
}
