package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/server"
)

// lines is a log that may be written and read concurrently.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// asks sends a request with an id; none if it is empty.
func (w *world) asks(method, path, id string) (*http.Response, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, "http://tend"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if id != "" {
		request.Header.Set("X-Request-ID", id)
	}
	return w.do(request)
}

// Each answer has the request's id: the client's if a log can hold it, else one of the server's.
func TestAnswersCarryTheRequestID(t *testing.T) {
	w := newWorld(t)
	own := regexp.MustCompile(`^[0-9a-f]{16}$`)
	for reason, test := range map[string]struct {
		sent string
		kept bool
	}{
		"none was sent":            {"", false},
		"one that is well-formed":  {"ci-42_a.B", true},
		"the longest":              {strings.Repeat("a", 64), true},
		"one that is too long":     {strings.Repeat("a", 65), false},
		"one with a space":         {"a b", false},
		"one that forges an entry": {`x" level=error`, false},
		"one of another alphabet":  {"bestätigt", false},
	} {
		response, _ := w.asks("GET", "/healthz", test.sent)
		got := response.Header.Get("X-Request-ID")
		if test.kept && got != test.sent || !test.kept && !own.MatchString(got) {
			t.Errorf("%s: sent %q, the answer has %q", reason, test.sent, got)
		}
	}
}

// A problem of the server's names the request, as the log does; a refusal does not.
func TestOnlyServerErrorsNameTheRequest(t *testing.T) {
	log := &lines{}
	burning := errors.New("the disk is on fire")
	w := newWorld(t, func(o *server.Options) {
		o.Logger = slog.New(tracing.LogHandler(slog.NewTextHandler(log, nil)))
		o.Authority = func(context.Context) ([]byte, error) { return nil, burning }
		o.RemoveServer = func(context.Context, string) error { return burning }
	})
	for method, path := range map[string]string{"GET": "/v1/ingress/ca", "DELETE": "/v1/servers/a"} {
		id := "r-" + method
		response, body := w.asks(method, path, id)
		problem := wantProblem(t, response, body, http.StatusInternalServerError)
		if problem.RequestID != id || !strings.Contains(problem.Next, id) {
			t.Errorf("the problem doesn't name the request: %s", body)
		}
		if line := log.String(); !strings.Contains(line, `msg="request failed"`) || !strings.Contains(line, "request="+id) {
			t.Errorf("the log doesn't name the request: %s", line)
		}
	}
	response, body := w.asks("GET", "/v1/objects/deployment/prod/none", "r-404")
	if problem := wantProblem(t, response, body, http.StatusNotFound); problem.RequestID != "" ||
		strings.Contains(body, "r-404") {
		t.Errorf("a refusal names the request: %s", body)
	}
	if got := response.Header.Get(api.HeaderRequestID); got != "r-404" {
		t.Errorf("its header has the id %q", got)
	}
}
