package daemon

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/nodeapi/remote"
	"tend.dev/tend/internal/store/records"
)

// Joins are in the audit, with the caller and the answer. Those without a valid token are counted.
func TestJoinsAreAudited(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"worker", "n1"} {
		_, _ = joins(t, token, node) // n1 is the server's own name
	}
	var got []string
	r.untilWithin(time.Minute, "the joins are in the audit", func() bool {
		page, err := r.client.ListEvents(t.Context(), client.EventOptions{Audit: true, Kind: api.KindNode})
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, e := range page.Events {
			var call api.AuditData
			if err := json.Unmarshal(e.Data, &call); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s/%s %d %s %v", call.Path, call.Scope, call.Name, call.Status, call.Problem,
				strings.Contains(call.Actor, "127.0.0.1")))
		}
		return len(got) == 2
	})
	if want := "/node/v1/join _/worker 200  true, /node/v1/join _/n1 409 NodeName true"; strings.Join(got, ", ") != want {
		t.Errorf("audited are %s, want %s", strings.Join(got, ", "), want)
	}
}

// joins joins as a new machine.
func joins(t *testing.T, token api.JoinToken, node string) (join.Membership, error) {
	t.Helper()
	machine, err := join.NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	return machine.Join(t.Context(), nil, "https://"+token.Address, token.Token, node)
}

// A name belongs to one machine at a time: a second one that joins under it while the first is away needs a person's
// confirmation. Then it has the name, and every request of the first is refused. A machine that never reported anything
// may have died while it joined: its name is free. The server's own name can't be taken.
func TestANameIsOfOneMachine(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 1000})
	if err != nil {
		t.Fatal(err)
	}
	as := func(node string) (join.Membership, error) { return joins(t, token, node) }
	if _, err := as("n1"); err == nil || !strings.Contains(err.Error(), "n1 is the node of server n1") {
		t.Errorf("the server's own name: %v", err)
	}
	first, err := as("worker")
	if err != nil {
		t.Fatal(err)
	}
	if err := asks(t, first); err != nil {
		t.Errorf("the first, alone: %v", err)
	}
	if err := says(t, first, "report", `{"node":{"id":"worker","ready":true,"runtime":"docker"}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := as("worker"); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("a second machine, unasked: %v", err)
	}
	if err := asks(t, first); err != nil {
		t.Errorf("the first, after another tried: %v", err)
	}
	if token, err = r.client.JoinToken(t.Context(), api.JoinTokenRequest{Node: "worker", Replace: true}); err != nil {
		t.Fatal(err)
	}
	second, err := as("worker")
	if err != nil {
		t.Fatal(err)
	}
	if err := asks(t, first); err == nil || !strings.Contains(err.Error(), "another machine has joined as worker since") {
		t.Errorf("the first after the second: %v", err)
	}
	if _, err := first.Renew(t.Context(), webOf(t, first)); err == nil ||
		!strings.Contains(err.Error(), "another machine") {
		t.Errorf("the first renews: %v", err)
	}
	if err := asks(t, second); err != nil {
		t.Errorf("the second: %v", err)
	}
	if _, err := as("mute"); err == nil {
		t.Error("a token for one name is good for another")
	}
	if token, err = r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 2}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := as("mute"); err != nil {
			t.Errorf("a machine that died while it joined: %v", err)
		}
	}
	renewed, err := second.Renew(t.Context(), webOf(t, second))
	if err != nil {
		t.Fatal(err)
	}
	if err := asks(t, renewed); err != nil {
		t.Errorf("the second with its next certificate: %v", err)
	}
}

// A token for nodes gives no right to serve ingresses under the name of a node that is declared to: it needs the
// operator's confirmation. A declaration made before any machine had the name gives no right to one that joined under
// it without a record.
func TestADeclaredNameGivesNoRight(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	r.apply(api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: "edge", Spec: json.RawMessage(`{"ingress":true}`)})
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joins(t, token, "edge"); err == nil || !strings.Contains(err.Error(), "tend nodes add --node edge") {
		t.Errorf("with a token for any node: %v", err)
	}
	if token, err = r.client.JoinToken(t.Context(), api.JoinTokenRequest{Node: "edge"}); err != nil {
		t.Fatal(err)
	}
	edge, err := joins(t, token, "edge")
	if err != nil {
		t.Fatal(err)
	}
	const list = "certificates/list"
	if err := says(t, edge, list, `{"key":"acme/ca"}`); err != nil && strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("with a token for its name: %v", err)
	}
	entry, err := r.store.Get(t.Context(), records.MemberKey("edge"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.NewTxn("test").If(entry.Key, entry.Modified).Delete(entry.Key).Commit(t.Context(),
		r.store); err != nil {
		t.Fatal(err)
	}
	r.until("a name without a record reads no certificates", func() bool {
		err := says(t, edge, list, `{"key":"acme/ca"}`)
		return err != nil && strings.Contains(err.Error(), "serves no ingresses")
	})
}

// webOf returns a client that a membership authenticates.
func webOf(t *testing.T, m join.Membership) *http.Client {
	t.Helper()
	pair, err := m.Pair()
	if err != nil {
		t.Fatal(err)
	}
	config, err := authority.NodeTLS(m.Authority, func() (*tls.Certificate, error) { return &pair, nil }, "h2")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// asks sends a request of a node.
func asks(t *testing.T, m join.Membership) error {
	return remote.New(remote.Options{Server: m.Server, HTTP: webOf(t, m)}).Current(t.Context())
}
