package join_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/join"
)

// admitting is a place that servers join, and what they said.
func admitting(t *testing.T, admit func(join.Server) error) *place {
	t.Helper()
	p := newPlace(t)
	p.desk.Admit = func(ctx context.Context, a join.Applicant, who join.Server) (join.Admission, error) {
		if err := p.use(ctx, a); err != nil {
			return join.Admission{}, err
		}
		return join.Admission{Keys: []byte("keys"), Peers: []byte("peers"), Members: map[string]string{who.Name: who.URL}},
			admit(who)
	}
	p.serve(t)
	return p
}

// TestJoinServer: a token for servers gives a server the cluster's keys; a token for nodes does not, and the other way
// round.
func TestJoinServer(t *testing.T) {
	p := admitting(t, func(join.Server) error { return nil })
	token := p.token(api.JoinAsServer)
	who := join.Server{Name: "b", URL: "https://10.0.0.2:2380"}
	given, err := join.JoinServer(t.Context(), nil, p.url, token, who)
	if err != nil || string(given.Keys) != "keys" || string(given.Peers) != "peers" || given.Members["b"] != who.URL {
		t.Errorf("%+v, %v", given, err)
	}
	ofNode := p.token(api.JoinAsNode)
	if _, err := join.JoinServer(t.Context(), nil, p.url, ofNode, who); !refusedFor(err, join.ErrRole) {
		t.Errorf("a server with the token of a node: %v", err)
	}
	if _, err := joinAs(t, p, token, "n1"); !refusedFor(err, join.ErrRole) {
		t.Errorf("a node with the token of a server: %v", err)
	}
	posing := "tendserver1" + strings.TrimPrefix(ofNode, "tend1")
	if _, err := join.JoinServer(t.Context(), nil, p.url, posing, who); !refusedFor(err, join.ErrRole) {
		t.Errorf("the token of a node that poses as a server's: %v", err)
	}
	for _, name := range []string{"", "a/b", "b-"} {
		if _, err := join.JoinServer(t.Context(), nil, p.url, token, join.Server{Name: name, URL: who.URL}); err == nil ||
			!strings.Contains(err.Error(), "name of a server") {
			t.Errorf("a server called %q: %v", name, err)
		}
	}
	once := p.token(api.JoinAsServer, func(i *api.JoinTokenInfo) { i.Uses = 1 })
	for range 2 {
		if _, err := join.JoinServer(t.Context(), nil, p.url, once, join.Server{Name: "c"}); err != nil {
			t.Errorf("c, again if the answer was lost: %v", err)
		}
	}
	if _, err := join.JoinServer(t.Context(), nil, p.url, once, join.Server{Name: "d"}); !refusedFor(err,
		errors.New("used already, by c")) {
		t.Errorf("another server with a token that was used: %v", err)
	}
	p.ahead.Store(int64(2 * time.Hour))
	if _, err := join.JoinServer(t.Context(), nil, p.url, token, who); !refusedFor(err, join.ErrExpired) {
		t.Errorf("a token that has ended: %v", err)
	}
}

func refusedFor(err, reason error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Status == 401 && strings.Contains(problem.Detail, reason.Error())
}

// TestNoServersHere: a server whose store is its own says how it takes others.
func TestNoServersHere(t *testing.T) {
	p := newPlace(t)
	token := p.token(api.JoinAsServer)
	if _, err := join.JoinServer(t.Context(), nil, p.url, token, join.Server{Name: "b"}); err == nil ||
		!strings.Contains(err.Error(), "no listener for other servers") {
		t.Errorf("%v", err)
	}
}

func TestServerURL(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "10.0.0.1:8688": "https://10.0.0.1:8688", "https://a.example:1": "https://a.example:1",
		"https://a:1/": "https://a:1",
		"[::1]:8688":   "https://[::1]:8688", "http://a:1": "error", "a.example": "error", "https://a:1/path": "error",
		"https://a b:1": "error",
	} {
		got, err := join.ServerURL(text)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}
