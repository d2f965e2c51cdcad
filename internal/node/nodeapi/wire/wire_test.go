package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/node/runtime"
)

// crossed is an error after it went over the wire.
func crossed(t *testing.T, err error) error {
	t.Helper()
	recorder := httptest.NewRecorder()
	wire.Fail(recorder, wire.ProblemOf(err))
	got := wire.Answer(recorder.Result())
	if got == nil {
		t.Fatalf("%v became a success: %d", err, recorder.Code)
	}
	return got
}

// TestErrorsKeepTheirIdentity: who asks over the wire finds out the same as who asks within the process.
func TestErrorsKeepTheirIdentity(t *testing.T) {
	for _, want := range []error{
		wire.ErrBadRequest, node.ErrForbidden, node.ErrNoRelease, node.ErrNoBlob, node.ErrNotConnected,
		node.ErrNoImage, node.ErrNoConfig,
		node.ErrNoPod, node.ErrPaused, fs.ErrNotExist, buildlog.ErrNotFound, runtime.ErrNotFound, runtime.ErrUnavailable,
		runtime.ErrUnsupported,
		runtime.ErrInUse, context.DeadlineExceeded,
	} {
		wrapped := fmt.Errorf("remove image sha256:1: %w", want)
		if got := crossed(t, wrapped); !errors.Is(got, want) || got.Error() != wrapped.Error() {
			t.Errorf("%v became %v", wrapped, got)
		}
		if again := crossed(t, crossed(t, wrapped)); !errors.Is(again, want) { // a node's error goes through a server
			t.Errorf("%v became %v on its second way", wrapped, again)
		}
	}
}

// TestReasonsCross: the reason, the engine's message and the next step arrive as they were.
func TestReasonsCross(t *testing.T) {
	for name, parts := range map[string]runtime.RejectedError{
		"all":     {Reason: "NotRunning", Detail: "container a is not running", Next: "start the container first"},
		"no next": {Reason: "PortTaken", Detail: "port 80"},
		"nothing": {},
	} {
		refused := fmt.Errorf("exec: %w", &parts)
		var rejected *runtime.RejectedError
		if got := crossed(t, refused); !errors.As(got, &rejected) || got.Error() != refused.Error() {
			t.Errorf("%s: %v became %v", name, refused, got)
		} else if diff := cmp.Diff(parts, *rejected); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		passing := runtime.TransientError(parts)
		var transient *runtime.TransientError
		if got := crossed(t, fmt.Errorf("pull: %w", &passing)); !errors.As(got, &transient) ||
			errors.As(got, new(*runtime.RejectedError)) {
			t.Errorf("%s: %v is not transient", name, got)
		} else if diff := cmp.Diff(passing, *transient); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestProblemsCross: a problem arrives as it was sent, but never as a success, and never with a status that HTTP has
// not.
func TestProblemsCross(t *testing.T) {
	sent := api.Problem{Title: "Own", Status: 409, Detail: "not now", Next: "later",
		Errors: []api.FieldError{{Field: "ports[0]", Detail: "taken"}}}
	for status, want := range map[int]int{409: 409, 507: 507, 0: 400, 200: 400, 42: 400, 1000: 400} {
		problem := sent
		problem.Status = status
		var got *api.Problem
		if err := crossed(t, fmt.Errorf("wrapped: %w", &problem)); !errors.As(err, &got) {
			t.Fatalf("%d: %v", status, err)
		}
		expected := sent
		expected.Status = want
		if diff := cmp.Diff(expected, *got); diff != "" {
			t.Errorf("%d: %s", status, diff)
		}
		if problem.Status != status {
			t.Errorf("the sender's problem was changed to %d", problem.Status)
		}
	}
	if err := crossed(t, errors.New("the disk is on fire")); err.Error() != "the disk is on fire" {
		t.Errorf("an error without a name: %v", err)
	}
}

// TestAnswersOfOthers: what a proxy says instead of the other end is an error with its status.
func TestAnswersOfOthers(t *testing.T) {
	for name, body := range map[string]io.Reader{
		"a page": strings.NewReader("<html>Bad Gateway</html>"), "nothing": strings.NewReader(""),
		"a cut": iotest.ErrReader(io.ErrUnexpectedEOF),
	} {
		answer := &http.Response{StatusCode: 502, Status: "502 Bad Gateway", Body: io.NopCloser(body)}
		if err := wire.Answer(answer); err == nil || !strings.Contains(err.Error(), "502 Bad Gateway") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, status := range []int{101, 200, 204} {
		if err := wire.Answer(&http.Response{StatusCode: status}); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// serve returns a caller of a handler.
func serve(t *testing.T, handler http.HandlerFunc) wire.Caller {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return wire.Caller{Base: web.URL + "/", Do: web.Client().Do}
}

// TestValuesCross in both directions; a body that can't be read is the sender's fault.
func TestValuesCross(t *testing.T) {
	caller := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var sent []string
		err := wire.Body{Most: 16 << 20}.Read(w, r, &sent)
		if err == nil {
			err = wire.Write(w, append(sent, r.Method, r.URL.Path))
		}
		if err != nil {
			wire.Fail(w, wire.ProblemOf(err))
		}
	})
	var got []string
	if err := caller.Post(t.Context(), "stats", []string{"a", "<b>"}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "<b>", "POST", "/stats"}, got); diff != "" {
		t.Error(diff)
	}
	if err := caller.Get(t.Context(), "stats", &got); !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("no body: %v", err)
	}
	if err := caller.Post(t.Context(), "stats", map[string]int{"a": 1}, &got); !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("another form: %v", err)
	}
	if err := caller.Post(t.Context(), "stats", []string{strings.Repeat("x", 17<<20)}, &got); !errors.Is(err,
		wire.ErrBadRequest) {
		t.Errorf("17 MiB: %v", err)
	}
	if err := caller.Post(t.Context(), "stats", []string{"a"}, new(int)); err == nil ||
		!strings.Contains(err.Error(), "the answer to stats") {
		t.Errorf("an answer of another form: %v", err)
	}
}

// TestABodyThatBreaks: bytes that end early are never taken for all of them.
func TestABodyThatBreaks(t *testing.T) {
	for name, test := range map[string]struct {
		rest  io.Reader
		whole bool
	}{
		"whole": {strings.NewReader(""), true}, "broken": {iotest.ErrReader(errors.New("the disk is away")), false},
	} {
		caller := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			wire.Copy(w, io.MultiReader(strings.NewReader("some"), test.rest))
		})
		answer, err := caller.Send(t.Context(), http.MethodGet, "images/1", nil)
		if err == nil {
			_, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
		if (err == nil) != test.whole {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestABodyThatStops is given up, over HTTP/2 too; what was held for it was asked for before.
func TestABodyThatStops(t *testing.T) {
	for _, version := range []int{1, 2} {
		held := 0
		web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var sent []string
			body := wire.Body{Most: 1 << 20, Within: 50 * time.Millisecond,
				Hold: func(bytes int) error { held += bytes; return nil }}
			wire.Fail(w, wire.ProblemOf(body.Read(w, r, &sent)))
		}))
		web.EnableHTTP2 = version == 2
		web.StartTLS()
		defer web.Close()
		body, in := io.Pipe()
		go func() { _, _ = io.WriteString(in, `["a"`) }()
		answer, err := web.Client().Post(web.URL, "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Answer(answer); answer.ProtoMajor != version || !errors.Is(err, wire.ErrBadRequest) ||
			held != len(`["a"`) {
			t.Errorf("HTTP/%d: %v, %d bytes were held", answer.ProtoMajor, err, held)
		}
		_ = answer.Body.Close()
		_ = in.Close()
	}
}

// TestABusyServer is asked once more when it says, unless the body is gone.
func TestABusyServer(t *testing.T) {
	asked := 0
	caller := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var sent string
		err := wire.Body{Most: 100}.Read(w, r, &sent)
		if asked++; err == nil && asked < 3 {
			err = wire.Busy(w, 0, "busy")
		}
		if err != nil {
			wire.Fail(w, wire.ProblemOf(err))
			return
		}
		_ = wire.Write(w, sent)
	})
	caller.Do = wire.Patient(caller.Do)
	var got string
	if err := caller.Post(t.Context(), "x", "a", &got); err != nil || got != "a" || asked != 3 {
		t.Errorf("%q, %v after %d requests", got, err, asked)
	}
	asked = 0
	if _, err := caller.Send(t.Context(), http.MethodPost, "x", io.NopCloser(strings.NewReader(`"a"`))); err == nil ||
		asked != 1 {
		t.Errorf("a body that is gone: %v after %d requests", err, asked)
	}
}
