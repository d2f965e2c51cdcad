package server_test

import (
	"net/http"
	"testing"
)

func TestGuard(t *testing.T) {
	w := newWorld(t)
	cases := map[string]struct {
		reason string
		path   string
		header map[string]string
		host   string
		want   int
	}{
		"no token": {reason: "loopback asks for a token too", path: "/v1/pods", want: 401},
		"wrong token": {reason: "any token won't do", path: "/v1/pods",
			header: map[string]string{"Authorization": "Bearer tend_0123456789abcdeX"}, want: 401},
		"wrong scheme": {reason: "only bearer tokens are known", path: "/v1/pods",
			header: map[string]string{"Authorization": "Basic " + token}, want: 401},
		"token": {reason: "the token opens", path: "/v1/pods",
			header: map[string]string{"Authorization": "Bearer " + token}, want: 200},
		"healthz":      {reason: "health is open", path: "/healthz", want: 200},
		"readyz":       {reason: "readiness is open", path: "/readyz", want: 200},
		"version":      {reason: "the version is open", path: "/version", want: 200},
		"metrics":      {reason: "metrics are open", path: "/metrics", want: 200},
		"near healthz": {reason: "open paths are exact", path: "/healthz/../v1/pods", want: 401},
		"openapi":      {reason: "the document is not open", path: "/openapi.json", want: 401},
		"localhost":    {reason: "localhost is loopback", path: "/healthz", host: "localhost:8686", want: 200},
		"ipv6":         {reason: "::1 is loopback", path: "/healthz", host: "[::1]:8686", want: 200},
		"rebound name": {reason: "a name of the attacker's that resolves here is refused", path: "/healthz",
			host: "evil.example:8686", want: 421},
		"lookalike": {reason: "127.0.0.1.evil.example isn't a loopback address", path: "/healthz",
			host: "127.0.0.1.evil.example", want: 421},
		"origin": {reason: "a web page elsewhere is refused even with the token", path: "/v1/pods",
			header: map[string]string{"Authorization": "Bearer " + token, "Origin": "https://evil.example"}, want: 403},
		"null origin": {reason: "a sandboxed page is elsewhere", path: "/healthz",
			header: map[string]string{"Origin": "null"}, want: 403},
		"own origin": {reason: "the server's own pages may", path: "/v1/pods", host: "localhost:8686",
			header: map[string]string{"Authorization": "Bearer " + token, "Origin": "http://localhost:8686"}, want: 200},
		"other's port": {reason: "another server on this machine is another origin", path: "/v1/pods", host: "localhost:8686",
			header: map[string]string{"Authorization": "Bearer " + token, "Origin": "http://localhost:3000"}, want: 403},
		"empty token": {reason: "an empty token doesn't count", path: "/v1/pods",
			header: map[string]string{"Authorization": "Bearer "}, want: 401},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), "GET", w.http+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = tc.host
			for key, value := range tc.header {
				request.Header.Set(key, value)
			}
			response, body := w.do(request)
			if response.StatusCode != tc.want {
				t.Fatalf("%s: %d, want %d: %s", tc.reason, response.StatusCode, tc.want, body)
			}
			if tc.want >= 400 {
				wantProblem(t, response, body, tc.want)
			}
		})
	}
}

func TestUnixSocketNeedsNoToken(t *testing.T) {
	w := newWorld(t)
	if _, err := w.client.Nodes(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.dial(w.http, token).Nodes(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.dial(w.http, "wrong").Nodes(t.Context()); err == nil {
		t.Error("a wrong token was taken")
	}
}
