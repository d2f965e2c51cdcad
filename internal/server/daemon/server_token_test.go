package daemon

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/store/etcd/etcdtest"
)

// TestAServersTokenIsSpent: once the server that used a token has started, the token no longer gives the cluster's keys
// to anyone, also not under that server's name and address.
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
	thieves := []join.Server{{Name: "b", URL: servers.Items[1].Store}, {Name: "b", URL: "https://127.0.0.9:1"},
		{Name: "c", URL: "https://127.0.0.9:1"}}
	refused := func(when string) {
		t.Helper()
		for _, thief := range thieves {
			given, err := join.JoinServer(t.Context(), nil, "https://"+token.Address, token.Token, thief)
			if err == nil || !strings.Contains(err.Error(), "used already, by b") || len(given.Keys) > 0 {
				t.Errorf("%s: %+v: %v", when, thief, err)
			}
		}
	}
	refused("it runs")
	if _, err := a.client.RemoveServer(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	a.untilWithin(patience, "b is no longer a server", func() bool {
		servers, err := a.client.Servers(t.Context())
		return err == nil && len(servers.Items) == 1
	})
	refused("it was removed")
}

// TestTheTokenOfAServerThatNeverStarted is invalid once the server that it added is removed.
func TestTheTokenOfAServerThatNeverStarted(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, "a")
	a := s.start("a", "")
	token, err := a.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil {
		t.Fatal(err)
	}
	who := join.Server{Name: "b", URL: "https://" + loopback()}
	joins := func() error {
		_, err := join.JoinServer(t.Context(), nil, "https://"+token.Address, token.Token, who)
		return err
	}
	if err := joins(); err != nil {
		t.Fatal(err)
	}
	if err := joins(); err != nil {
		t.Errorf("an answer that was lost: %v", err)
	}
	servers, err := a.client.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range servers.Items {
		if one.State == api.ServerAdded {
			if _, err := a.client.RemoveServer(t.Context(), one.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := joins(); err == nil || !strings.Contains(err.Error(), "used already, by b") {
		t.Errorf("after it was removed: %v", err)
	}
}

// TestTheTokenOfAServerThatIsOff: over an external etcd nothing but the token itself says that a server which is off
// has started.
func TestTheTokenOfAServerThatIsOff(t *testing.T) {
	t.Parallel()
	shared := etcdtest.Start(t, etcdtest.Options{})
	s := newSeveral(t, "a", "b")
	a := s.startOn(shared, "a", "")
	token, err := a.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil {
		t.Fatal(err)
	}
	b := s.startWith("b", func(o *Options) { o.External, o.Join, o.Token = reach(shared), token.Address, token.Token })
	lists := func(count int) func() bool {
		return func() bool {
			servers, err := a.client.Servers(t.Context())
			return err == nil && len(servers.Items) == count
		}
	}
	a.untilWithin(patience, "b is there", lists(2))
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	a.untilWithin(patience, "b is off", lists(1))
	given, err := join.JoinServer(t.Context(), nil, "https://"+token.Address, token.Token, join.Server{Name: "b"})
	if err == nil || !strings.Contains(err.Error(), "used already, by b") || len(given.Keys) > 0 {
		t.Errorf("gets %d bytes of keys: %v", len(given.Keys), err)
	}
}
