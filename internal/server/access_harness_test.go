package server_test

import (
	"bufio"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// person puts an access token into the store, as another server would, and returns it.
func (w *world) person(name string, role api.AccessRole, life time.Duration, scopes ...string) string {
	w.t.Helper()
	hash := sha256.Sum256([]byte("secret-of-" + name))
	w.put(records.AccessTokenKey(name), records.AccessToken{Hash: hash[:], AccessTokenInfo: api.AccessTokenInfo{
		Name: name, Role: role, Scopes: scopes, ID: "id-" + name, ExpiresAt: time.Now().Add(life)}})
	return api.AccessTokenPrefix + "." + name + ".secret-of-" + name
}

// ask sends a request with a token over loopback.
func (w *world) ask(token, method, path, body string) (*http.Response, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.http+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return w.do(request)
}

// followed is a stream that a test reads.
type followed struct {
	t     testing.TB
	lines *bufio.Reader
}

// follow opens a stream with a token.
func (w *world) follow(token, path string) *followed {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), "GET", w.http+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s", path, response.Status)
	}
	w.t.Cleanup(func() { response.Body.Close() })
	return &followed{w.t, bufio.NewReader(response.Body)}
}

// until reads up to the line that contains a text, and returns everything read.
func (f *followed) until(want string) (text string) {
	f.t.Helper()
	for {
		line, err := f.lines.ReadString('\n')
		if text += line; strings.Contains(line, want) {
			return text
		}
		if err != nil {
			f.t.Fatalf("%v, before %q:\n%s", err, want, text)
		}
	}
}

// rest reads to the end.
func (f *followed) rest() string {
	f.t.Helper()
	text, err := io.ReadAll(f.lines)
	if err != nil {
		f.t.Errorf("%v after %s", err, text)
	}
	return string(text)
}

// forbidden checks that an answer is a 403 for an identified caller, and returns the problem.
func forbidden(t testing.TB, response *http.Response, body string) api.Problem {
	t.Helper()
	problem := wantProblem(t, response, body, http.StatusForbidden)
	if problem.Title != "Forbidden" || problem.Type != api.ProblemType+"Forbidden" {
		t.Errorf("it is %s", body)
	}
	return problem
}

// untilOpen waits until the metrics report these open streams.
func (w *world) untilOpen(streams ...string) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, metrics := w.raw("GET", "/metrics", "", "")
		open := 0
		for _, stream := range streams {
			if strings.Contains(metrics, "tend_http_streams{stream="+stream) {
				open++
			}
		}
		switch {
		case open == len(streams):
			return
		case time.Now().After(deadline):
			w.t.Fatalf("%v are not open:\n%s", streams, metrics)
		}
	}
}
