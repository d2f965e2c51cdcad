package daemon

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// TestVersionsAtTheJoin: a machine whose Tend does not go with the servers' is refused before anything changes, so the
// same token is good once that machine is upgraded.
func TestVersionsAtTheJoin(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, "a")
	var kept store.Store
	a := s.startWith("a", func(o *Options) {
		o.PeerListen, o.AroundStore = loopback(), func(s store.Store) store.Store { kept = s; return s }
	})
	// A token that is made after it is made in sight of it.
	if _, err := records.NewTxn("test").Put(records.ServerKey("z"), api.ServerPresence{Version: "v1.4.0"}).
		Commit(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	token := func(role string) api.JoinToken {
		t.Helper()
		token, err := a.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	ofNode, ofServer := token(api.JoinAsNode), token(api.JoinAsServer)
	machine, err := join.NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	agent := func(version string) error {
		machine.Version = version
		_, err := machine.Join(t.Context(), nil, "https://"+ofNode.Address, ofNode.Token, "w")
		return err
	}
	server := func(version, schema string) error {
		_, err := join.JoinServer(t.Context(), nil, "https://"+ofServer.Address, ofServer.Token,
			join.Server{Name: "b", URL: "https://" + loopback(), Version: version, Schema: schema})
		return err
	}
	for what, refused := range map[string]struct {
		err  error
		says string
	}{
		"an old agent":           {agent("v1.2.0"), "install v1.4.0 on the machine"},
		"an agent that is newer": {agent("v1.5.0"), "servers are upgraded before nodes"},
		"an old server":          {server("v1.2.0", schemaVersion), "install v1.4.0 on the machine"},
		"a server that is newer": {server("v1.6.0", schemaVersion), "install v1.4.0 on the machine"},
		"another schema":         {server("v1.5.0", "2"), "knows the store's schema 2, the cluster's is 1"},
	} {
		if refused.err == nil || !strings.Contains(refused.err.Error(), refused.says) {
			t.Errorf("%s: %v", what, refused.err)
		}
	}
	servers, err := a.client.Servers(t.Context())
	if err != nil || len(servers.Items) != 1 {
		t.Errorf("after the refusals: %+v, %v", servers.Items, err)
	}
	if err := agent("v1.3.9"); err != nil {
		t.Errorf("an agent of the minor version before: %v", err)
	}
	if err := server("v1.5.0", schemaVersion); err != nil {
		t.Errorf("a server of the next minor version: %v", err)
	}
}
