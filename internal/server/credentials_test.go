package server_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
)

// origin is from where a request comes, by which listener.
type origin struct {
	listener string
	// from is the address of the peer; empty for loopback.
	from string
	// forwarded are headers of a proxy.
	forwarded string
}

// at sends a request from a place with a token, and returns the answer's status and problem.
func (w *world) at(p origin, method, path, token string) (int, string) {
	w.t.Helper()
	base := map[string]string{"socket": "http://tend", "loopback": w.http, "people": "https://" + w.https}[p.listener]
	request, err := http.NewRequestWithContext(w.t.Context(), method, base+path, strings.NewReader("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if name, value, found := strings.Cut(p.forwarded, ": "); found {
		request.Header.Set(name, value)
	}
	if p.listener != "people" {
		response, body := w.do(request)
		return response.StatusCode, body
	}
	w.peer.Store(nil)
	if p.from != "" {
		w.peer.Store(&net.TCPAddr{IP: net.ParseIP(p.from), Port: 4711})
	}
	response, err := (&http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}).RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestEveryCredentialAtEveryListener: what opens which listener, and from where.
func TestEveryCredentialAtEveryListener(t *testing.T) {
	mac := func(plain []byte) string { return "mac-of-" + string(plain[:min(len(plain), 8)]) }
	w := newWorld(t, func(o *server.Options) { o.MAC = mac })
	w.apply("web", `{"image":"a:1"}`)
	credentials := map[string]string{
		"none": "", "wrong": "tend_wrong", "own": token,
		"viewer": w.person("alice", api.Viewer, time.Hour), "admin": w.person("root", api.Admin, time.Hour),
		"expired": w.person("carol", api.Admin, -time.Hour), "of another cluster": api.AccessTokenPrefix + ".dora.secret",
		"container": server.ContainerToken(mac, api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web"}),
	}
	here, person := []string{"own", "viewer", "admin"}, []string{"viewer", "admin"}
	everything := []string{"none", "wrong", "own", "viewer", "admin", "expired", "of another cluster", "container"}
	for _, row := range []struct {
		origin
		reason string
		opens  []string
	}{
		{origin{"socket", "", ""}, "its permissions decide", everything},
		{origin{"loopback", "", ""}, "a program of this machine, or ssh's end", here},
		{origin{"loopback", "", "X-Forwarded-For: 10.0.0.7"}, "a proxy here, for another machine", person},
		{origin{"loopback", "", "Forwarded: for=10.0.0.7"}, "the same, in the standard's words", person},
		{origin{"people", "", ""}, "a program of this machine", here},
		{origin{"people", "", "Via: 1.1 proxy"}, "a proxy here, for another machine", person},
		{origin{"people", "172.20.0.2", ""}, "a container of this machine", person},
		{origin{"people", "10.0.0.7", ""}, "another machine", person},
		{origin{"people", "10.0.0.7", "X-Forwarded-For: 127.0.0.1"}, "another machine, which claims to be this one", person},
		{origin{"people", "2001:db8::7", ""}, "another machine, by IPv6", person},
	} {
		opens := map[string]bool{}
		for _, name := range row.opens {
			opens[name] = true
		}
		for name, secret := range credentials {
			want := map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[opens[name]]
			if got, body := w.at(row.origin, "GET", "/v1/pods", secret); got != want {
				t.Errorf("%s at %+v (%s): %d, want %d: %s", name, row.origin, row.reason, got, want, body)
			}
		}
	}
}

// TestTheOwnTokenFromAway: a thief's calls are audited each, reads too, and the answer has the next step.
func TestTheOwnTokenFromAway(t *testing.T) {
	audit := &fakeAuditor{}
	w := newWorld(t, func(o *server.Options) { o.Auditor = audit })
	container := origin{"people", "172.20.0.2", ""}
	for _, method := range []string{"GET", "POST"} {
		if status, body := w.at(container, method, "/v1/tokens", token); status != http.StatusUnauthorized ||
			!strings.Contains(body, "tend tokens add") || !strings.Contains(body, "server's machine alone") {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
	audit.mu.Lock()
	defer audit.mu.Unlock()
	if len(audit.bounded) != 2 || len(audit.foreign) != 0 {
		t.Fatalf("audited are %+v; counted %+v", audit.bounded, audit.foreign)
	}
	for _, call := range audit.bounded {
		if call.Status != http.StatusUnauthorized || !strings.Contains(call.Actor, "172.20.0.2") {
			t.Errorf("%+v", call)
		}
	}
}
