package server_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/server"
)

// remote opens a listener for other machines, with a certificate of an authority of its own.
func (w *world) remote() server.Endpoint {
	w.t.Helper()
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		w.t.Fatal(err)
	}
	certificate, err := ca.Server(time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.https, w.pin = listener.Addr().String(), ca.Fingerprint()
	return server.Endpoint{Listener: elsewhere{listener, w.peer},
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}}
}

// elsewhere is a listener whose connections come from the address of peer, if that has one.
type elsewhere struct {
	net.Listener
	peer *atomic.Pointer[net.TCPAddr]
}

func (l elsewhere) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if from := l.peer.Load(); err == nil && from != nil {
		conn = distant{conn, from}
	}
	return conn, err
}

type distant struct {
	net.Conn
	from net.Addr
}

func (c distant) RemoteAddr() net.Addr { return c.from }

// TestOtherMachines: over TLS alone, with a token, by the authority that the token names; then as on loopback.
func TestOtherMachines(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a:1"}`)
	address, pin := w.https, w.pin
	alice := w.person("alice", api.Viewer, time.Hour, "prod")
	trusting := w.dial("https://"+address, alice+"."+pin)
	if pods, err := trusting.Objects(t.Context(), api.KindDeployment, client.ObjectFilter{}); err != nil ||
		len(pods.Items) != 1 {
		t.Errorf("%+v, %v", pods, err)
	}
	if _, err := w.dial("https://"+address, token+".x").Nodes(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "not trusted") {
		t.Errorf("a token that names no authority, and an unknown certificate: %v", err)
	}
	if _, err := w.dial("https://"+address, alice+"."+strings.Repeat("0", 64)).Nodes(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "not of the authority that the token names") {
		t.Errorf("another authority: %v", err)
	}
	if _, err := client.New(client.Options{Server: "http://10.0.0.1:8685", Token: alice}); err == nil ||
		!strings.Contains(err.Error(), "https://10.0.0.1:8685") {
		t.Errorf("a token in plain text: %v", err)
	}
	plain, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, _ := w.do(plain); response.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP: %s", response.Status)
	}
	through := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}}
	for path, tc := range map[string]struct {
		token string
		want  int
	}{
		"/healthz": {"", 200}, "/version": {"", 200}, "/metrics": {"", 401}, "/v1/pods": {"", 401}, "/v1/nodes": {alice, 403},
		"/v1/runs": {alice, 200}, "/v1/servers": {token, 200},
	} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+tc.token)
		began := time.Now()
		response, err := through.Do(request)
		if err != nil || response.StatusCode != tc.want {
			t.Errorf("%s: %v, %v; want %d", path, response, err, tc.want)
			continue
		}
		response.Body.Close()
		if slow := time.Since(began) > 900*time.Millisecond; tc.want == 401 && !slow {
			t.Errorf("%s: a wrong token is refused at once", path)
		}
	}
	request, _ := http.NewRequestWithContext(t.Context(), "GET", "https://"+address+"/v1/runs", http.NoBody)
	request.Header.Set("Authorization", "Bearer "+alice)
	request.Header.Set("Origin", "https://evil.example")
	response, err := through.Do(request)
	if err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another origin: %v, %v", response, err)
	}
	response.Body.Close()
}
