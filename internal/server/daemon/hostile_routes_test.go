package daemon

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
)

// openRoutes are the routes of the API that anyone may call, without a credential; metrics on loopback alone.
var openRoutes = []string{"GET /healthz", "GET /readyz", "GET /version", "GET /metrics"}

// called are the routes that containers call below their callback path too.
var called = []string{"POST /plugin/{name}/{command}"}

var inRoute = strings.NewReplacer("{kind}", "statefulset", "{scope}", "prod", "{name}", "db", "{id}", "x", "{pod}", "x",
	"{digest}", "sha256:"+strings.Repeat("7", 64), "{node}", "edge", "{command}", "do")

// TestEveryRouteForEveryMachine: no credential of a machine opens a route of the API, on any listener, and nothing of
// the API is answered on the listener for nodes, also not below the callback path of a container.
func TestEveryRouteForEveryMachine(t *testing.T) {
	l := newListened(t)
	callers := slices.DeleteFunc(l.callers(), func(s caller) bool { return s.ofPeople })
	person, err := l.client.AddToken(t.Context(), api.AccessTokenRequest{Name: "reader", Role: api.Viewer})
	if err != nil || person.Local == "" || person.Server == "" {
		t.Fatalf("%+v, %v", person, err)
	}
	cases, before := 0, dumpOf(t, l.store)
	calls := make(chan struct{}, 100) // each refusal on the listener for people takes a second
	var wait sync.WaitGroup
	for i, s := range callers {
		client := s.client(t, i)
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		tokens := s.tokens()
		for _, route := range l.daemon.server.Routes() {
			cases += len(tokens)
			calls <- struct{}{}
			wait.Go(func() {
				defer func() { <-calls }()
				l.refusesRoute(client, s, route, tokens, person)
			})
		}
	}
	wait.Wait()
	if after := dumpOf(t, l.store); !bytes.Equal(before, after) {
		t.Errorf("the store has changed:\n%s\n%s", before, after)
	}
	if cases < 1500 {
		t.Errorf("only %d cases", cases)
	}
}

// tokens are those that a caller can send as a bearer token, and none for its certificate alone.
func (s caller) tokens() (out []string) {
	for _, token := range []string{s.bearer, s.joinToken, strings.TrimPrefix(s.callback, "/t/")} {
		if token != "" && !slices.Contains(out, token) {
			out = append(out, token)
		}
	}
	if len(s.certificate.Certificate) > 0 || len(out) == 0 {
		out = append(out, "")
	}
	return out
}

// refusesRoute calls a route with each token of a caller, on the listeners where people call it, whose addresses a
// person's token has, and on that for nodes.
func (l *listened) refusesRoute(client *http.Client, s caller, route string, tokens []string, person api.AccessToken) {
	open := slices.Contains(openRoutes, route)
	for _, token := range tokens {
		l.routed(client, s, person.Local, route, token, open, http.StatusUnauthorized)
		l.routed(client, s, person.Server, route, token, open && route != "GET /metrics", http.StatusUnauthorized)
	}
	if s.shut {
		return
	}
	nodes := "https://" + l.address
	l.routed(client, s, nodes, route, s.bearer, false, http.StatusNotFound)
	if s.name == aContainer && !slices.Contains(called, route) {
		l.routed(client, s, nodes+"/node/v1/callbacks"+s.callback, route, s.bearer, false, http.StatusNotFound)
	}
}

// routed calls a route at a listener, and checks that it is answered to those alone to whom it is open.
func (l *listened) routed(client *http.Client, s caller, at, route, token string, open bool, refused int) {
	l.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	body := "{}"
	if path == "/v1/apply" {
		body = `{"kind":"job","scope":"prod","name":"theirs","spec":{"image":"web:1"}}`
	}
	request, err := http.NewRequestWithContext(l.t.Context(), method, at+inRoute.Replace(path), strings.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = refused == http.StatusUnauthorized // a refusal closes the connection of all requests on it
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		l.t.Errorf("%s at %s%s: %v", s.name, at, route, err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	switch {
	case open && answer.StatusCode != http.StatusOK:
		l.t.Errorf("%s at %s %s, which is open: %d %s", s.name, at, route, answer.StatusCode, text)
	case !open && answer.StatusCode != refused:
		l.t.Errorf("%s at %s %s: %d %s", s.name, at, route, answer.StatusCode, text)
	}
}
