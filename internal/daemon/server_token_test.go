package daemon

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/nodeapi/join"
)

// TestAServersTokenIsSpent: once the server that used a token has started, nobody gets the cluster's keys with it, under that
// server's name and address neither.
func TestAServersTokenIsSpent(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, "a", "b")
	a := s.start("a", "")
	token, err := a.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil {
		t.Fatal(err)
	}
	s.startWith("b", func(o *Options) { o.PeerListen, o.Join, o.Token = loopback(), token.Address, token.Token })
	servers, err := a.client.Servers(t.Context())
	if err != nil || len(servers.Items) != 2 {
		t.Fatalf("%+v, %v", servers, err)
	}
	for _, thief := range []join.Server{{Name: "b", URL: servers.Items[1].Store}, {Name: "b", URL: "https://127.0.0.9:1"}, {Name: "c", URL: "https://127.0.0.9:1"}} {
		given, err := join.JoinServer(t.Context(), nil, "https://"+token.Address, token.Token, thief)
		if err == nil || !strings.Contains(err.Error(), "used already, by b") || len(given.Keys) > 0 {
			t.Errorf("%+v: %v", thief, err)
		}
	}
}
