package daemon

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"tend.dev/tend/api"
)

func (c *rotating) joinToken() string {
	c.t.Helper()
	token, err := c.running["a"].client.JoinToken(c.t.Context(), api.JoinTokenRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	return token.Token
}

// joinsRaw asks for the certificate of a node as curl -k would: it doesn't look at the authority that a token names.
func joinsRaw(t *testing.T, address, token, node string) (status int, text string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"token": token, "node": node, "request": request})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}},
		ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Post("https://"+address+"/node/v1/join", "application/json",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	answered, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(answered)
}
