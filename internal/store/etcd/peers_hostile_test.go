package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
)

// peerPaths are those of the listener at which servers' stores reach each other.
var peerPaths = []string{"/version", "/members", "/raft", "/raft/probing", "/raft/stream/message/1", "/raft/snapshot",
	"/members/promote/1", "/leases", "/leases/internal", "/downgrade/enabled"}

// TestWhoReachesTheStoresOfServers: of all parties, servers alone get a connection to the listener of a server's store,
// whatever they ask for on it, and whatever token they send.
func TestWhoReachesTheStoresOfServers(t *testing.T) {
	s := newServers(t, "a")
	s.start("a", nil)
	open := func(text []byte, err error) *authority.Authority {
		t.Helper()
		out, err2 := authority.Open(text, time.Now)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return out
	}
	found := func(name string) *authority.Authority {
		t.Helper()
		out, err := authority.Found(name, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	peer := func(a *authority.Authority) []tls.Certificate {
		t.Helper()
		certificate, key, err := a.Peer(time.Hour)
		pair, err2 := tls.X509KeyPair(certificate, key)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return []tls.Certificate{pair}
	}
	client := func(a *authority.Authority, of authority.Machine) []tls.Certificate {
		t.Helper()
		own, err := a.Client(of, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{own}
	}
	peers, nodes, others := open(s.peers.Authority()), found("nodes"), found("peers of another cluster")
	listener, err := nodes.Server(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for party, tc := range map[string]struct {
		with  []tls.Certificate
		token string
		let   bool
	}{
		"a server":                           {with: peer(peers), let: true},
		"a neighbour without a certificate":  {},
		"the operator, by the token":         {token: "Bearer tend"},
		"a person, by a token":               {token: "Bearer tend_at_1"},
		"a container, by its callback token": {token: "Bearer prod.web.1"},
		"a machine, by a token to join":      {token: "Bearer tend-join-1"},
		"a node":                             {with: client(nodes, authority.Machine{Node: "n1", UID: "1"})},
		"a server, as nodes know it":         {with: client(nodes, authority.Machine{})},
		"a server's listener for nodes":      {with: []tls.Certificate{listener}},
		"a server of another cluster":        {with: peer(others)},
		"who names itself a server":          {with: peer(nodes), token: "Bearer tend"},
	} {
		t.Run(party, func(t *testing.T) {
			for version, config := range map[string]*tls.Config{"1.2": {MaxVersion: tls.VersionTLS12}, "1.3": {}} {
				config.InsecureSkipVerify = true
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					if len(tc.with) == 0 {
						return &tls.Certificate{}, nil
					}
					return &tc.with[0], nil // also one of an authority that the listener doesn't ask for
				}
				for _, path := range peerPaths {
					status, err := asksPeer(t.Context(), config, s.urls["a"]+path, tc.token)
					if (err == nil) != tc.let || errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("TLS %s, %s: status %d, %v", version, path, status, err)
					}
				}
			}
			if status, err := asksPeer(t.Context(), nil, "http"+s.urls["a"][len("https"):]+"/version", tc.token); err == nil &&
				status != http.StatusBadRequest {
				t.Errorf("without TLS: status %d", status)
			}
		})
	}
}

// asksPeer returns the status of an answer, or the error of the connection.
func asksPeer(ctx context.Context, config *tls.Config, url, token string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", token)
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 1)
	return answer.StatusCode, nil
}
