package join_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/authority"
)

// nameIn returns whose certificate it is.
func nameIn(t *testing.T, text []byte) string {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("%q is not a certificate", text)
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Subject.CommonName
}

// TestUnknownClients: without a node's certificate nothing is renewed, and a request must be one.
func TestUnknownClients(t *testing.T) {
	p := newPlace(t)
	token := p.token(api.JoinAsNode)
	_, request, err := authority.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: authority.JoinTLS(p.desk.Authority.Fingerprint()),
		ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	unknown := &http.Client{Transport: transport}
	for name, test := range map[string]struct {
		path   string
		body   any
		status int
	}{
		"renew without a certificate": {"/node/v1/renew", map[string]any{"request": request}, 401},
		"renew with a token": {"/node/v1/renew",
			map[string]any{"request": request, "token": token, "node": "n1"}, 401},
		"join without a token":   {"/node/v1/join", map[string]any{"request": request, "node": "n1"}, 401},
		"join without a request": {"/node/v1/join", map[string]any{"token": token, "node": "n1"}, 400},
		"join with another body": {"/node/v1/join", []int{1}, 400},
		"join with a request of another's key": {"/node/v1/join", map[string]any{
			"token": token, "node": "n1", "request": append(bytes.Clone(request[:len(request)-1]), request[len(request)-1]^1),
		}, 400},
	} {
		body, err := json.Marshal(test.body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := unknown.Post(p.url+test.path, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != test.status {
			t.Errorf("%s: %s, want %d", name, answer.Status, test.status)
		}
	}
	config, err := authority.NodeTLS(p.desk.Authority.PEM(),
		func() (*tls.Certificate, error) { return p.own.Load(), nil }, "h2")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	if answer, err := server.Get(p.url + "/me"); err == nil {
		_ = answer.Body.Close()
		t.Error("a server's certificate is taken for a node's")
	}
}
