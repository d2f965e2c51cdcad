package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// fake is a server with the test's answers, which records the requests.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

// answers are by method and escaped path.
type answers map[string]http.HandlerFunc

func serve(t *testing.T, by answers) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		request := r.Method + " " + r.URL.RequestURI()
		if authorization := r.Header.Get("Authorization"); authorization != "Bearer secret" {
			t.Errorf("%s comes with the authorization %q", request, authorization)
		}
		if len(body) > 0 {
			request += " " + r.Header.Get("Content-Type") + " " + string(body)
		}
		f.note(request)
		answer := by[r.Method+" "+r.URL.EscapedPath()]
		if answer == nil {
			t.Errorf("unexpected: %s", request)
			answer = problem(http.StatusNotFound, "Not Found", "no such path")
		}
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, what)
}

// asked returns the recorded requests, one a line.
func (f *fake) asked() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.requests, "\n")
}

// reply answers with a status, a media type and a body.
func reply(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func problem(status int, title, detail string) http.HandlerFunc {
	return reply(status, "application/problem+json",
		`{"status": 0, "title": "`+title+`", "detail": "`+detail+`", "next": "tend get"}`)
}

// stream sends lines, and then waits until the client has disconnected.
func (f *fake) stream(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		reply(http.StatusOK, "application/jsonl", strings.Join(lines, "\n")+"\n")(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		f.note("closed " + r.URL.Path)
	}
}
