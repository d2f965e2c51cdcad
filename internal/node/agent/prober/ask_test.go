package prober_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/runtime"
)

// container is one container that can be probed.
type container struct {
	address string // as cached
	moved   string // as the engine knows it, if that differs
	err     error
	command *command
}

func (c *container) Address(_ context.Context, _ prober.Attempt, port int, fresh bool) (string, error) {
	host := c.address
	if fresh && c.moved != "" {
		host = c.moved
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), c.err
}

func (c *container) Exec(context.Context, prober.Attempt, []string) (runtime.Exec, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.command, nil
}

func (c *container) Redact(_ prober.Attempt, text string) string {
	return strings.ReplaceAll(text, "hunter2", "[redacted]")
}

// command exits with code after it printed; one that hangs exits when it is killed.
type command struct {
	code    int
	prints  string
	hangs   bool
	killErr error
	killed  bool
	closed  bool
}

func (c *command) Stdin() io.WriteCloser                  { return nil }
func (c *command) Stdout() io.Reader                      { return strings.NewReader(c.prints) }
func (c *command) Stderr() io.Reader                      { return strings.NewReader("") }
func (c *command) Resize(context.Context, int, int) error { return nil }
func (c *command) Close() error                           { c.closed = true; return nil }
func (c *command) Kill(context.Context) error             { c.killed = true; return c.killErr }

func (c *command) Wait(ctx context.Context) (int, error) {
	if c.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return c.code, nil
}

func ask(t *testing.T, c *container, p api.Probe) probe.Result {
	t.Helper()
	timeout := 5 * time.Second
	if p.Timeout != "" {
		timeout = p.Timeout.Or(0)
	}
	return prober.Asking(c)(t.Context(),
		prober.Attempt{Task: "t1", Container: "c1", Kind: probe.Readiness, Probe: p, Timeout: timeout})
}

func (c *container) want(t *testing.T, p api.Probe, want probe.Result) {
	t.Helper()
	got := ask(t, c, p)
	if got.Pass != want.Pass || got.Void != want.Void || !strings.Contains(got.Message, want.Message) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if want.Message == "" && got.Message != "" {
		t.Errorf("%+v says something", got)
	}
}

var (
	passes = probe.Result{Pass: true}
	void   = probe.Result{Void: true}
)

func fails(message string) probe.Result { return probe.Result{Message: message} }

// serve starts a web server on every loopback address, and returns a function that makes a probe of a path.
func serve(t *testing.T, handler http.HandlerFunc) func(path string) api.Probe {
	t.Helper()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	port := listener.Addr().(*net.TCPAddr).Port
	return func(path string) api.Probe { return api.Probe{HTTPGet: &api.HTTPGet{Path: path, Port: port}} }
}

func TestHTTPGet(t *testing.T) {
	ends := make(chan struct{})
	get := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hangs":
			<-ends
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/nobody", http.StatusFound)
		default:
			var code int
			_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
			w.WriteHeader(code)
			fmt.Fprintln(w, "no database")
		}
	})
	t.Cleanup(func() { close(ends) }) // before the server closes
	c := &container{address: "127.0.0.1"}
	for path, want := range map[string]probe.Result{
		"/200": passes, "/204": passes, "/399": passes, "/400": fails("GET :PORT/400 answered 400 'no database'"),
		"/500":  fails("GET :PORT/500 answered 500 'no database'"),
		"/away": passes, // any answer passes
	} {
		probed := get(path)
		want.Message = strings.Replace(want.Message, "PORT", strconv.Itoa(probed.HTTPGet.Port), 1)
		c.want(t, probed, want)
	}
	slow := get("/hangs")
	slow.Timeout = "20ms"
	c.want(t, slow, fails("no answer within 20ms"))
}

func TestHTTPGetSendsHeaders(t *testing.T) {
	get := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "app.example.org" || r.Header.Get("X-Key") != "yes" || r.UserAgent() != "tend-probe" ||
			r.URL.RawQuery != "full=1" {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	p := get("/healthz?full=1")
	p.HTTPGet.HTTPHeaders = map[string]string{"host": "app.example.org", "X-Key": "yes"}
	(&container{address: "127.0.0.1"}).want(t, p, passes)
}

// TestHTTPSVerifies: an untrusted certificate is a failure, not an answer.
func TestHTTPSVerifies(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	c := &container{address: "127.0.0.1"}
	c.want(t, api.Probe{HTTPGet: &api.HTTPGet{Path: "/", Port: port, Scheme: "https"}}, fails("certificate"))
}

func TestTCPSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := api.Probe{TCPSocket: &api.TCPSocket{Port: listener.Addr().(*net.TCPAddr).Port}}
	c := &container{address: "127.0.0.1"}
	c.want(t, p, passes)
	_ = listener.Close()
	c.want(t, p, fails("refuses connections"))
}

// TestAnAnswerThatIsCut: the message names neither Go's errors nor the addresses of both ends.
func TestAnAnswerThatIsCut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	got := ask(t, &container{address: "127.0.0.1"}, api.Probe{HTTPGet: &api.HTTPGet{Path: "/up", Port: port}})
	want := fmt.Sprintf("GET :%d/up: the program closed the connection without an answer", port)
	if got.Message != want {
		t.Errorf("%q, want %q", got.Message, want)
	}
}

// TestAsksWhereTheContainerMoved: the address is the current one, even if no event reported it.
func TestAsksWhereTheContainerMoved(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := api.Probe{TCPSocket: &api.TCPSocket{Port: listener.Addr().(*net.TCPAddr).Port}}
	(&container{address: "127.0.0.1", moved: "127.0.0.2"}).want(t, p, passes)
	(&container{address: "127.0.0.1"}).want(t, p, fails("refuses connections"))
}

// listening is a container of which it is known where its programs listen.
type listening struct {
	container
	where []string
	known bool
}

func (l *listening) Listening(prober.Attempt) ([]string, bool) { return l.where, l.known }

// TestARefusedPortSaysWhereTheProgramListens: as far as that is known.
func TestARefusedPortSaysWhereTheProgramListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	attempt := prober.Attempt{Probe: api.Probe{HTTPGet: &api.HTTPGet{Path: "/", Port: port}}, Timeout: time.Second}
	for text, l := range map[string]*listening{
		" refuses connections": {},
		" refuses connections; nothing listens in the container": {known: true},
		" refuses connections; the program listens on 8080, 127.0.0.1:9090": {known: true,
			where: []string{"8080", "127.0.0.1:9090"}},
	} {
		l.address = "127.0.0.1"
		if got := prober.Asking(l)(t.Context(), attempt); got.Message != ":"+strconv.Itoa(port)+text {
			t.Errorf("%q, want %q", got.Message, text)
		}
	}
}

func TestWhatSaysNothingIsVoid(t *testing.T) {
	socket, exec := api.Probe{TCPSocket: &api.TCPSocket{Port: 1}}, api.Probe{Exec: &api.ExecProbe{Command: []string{"x"}}}
	stopped := &runtime.RejectedError{Reason: "NotRunning", Detail: "container c1 is not running"}
	for _, err := range []error{runtime.ErrUnavailable, runtime.ErrNotFound, prober.ErrNotRunning, stopped,
		context.DeadlineExceeded} {
		c := &container{err: fmt.Errorf("wrapped: %w", err)}
		c.want(t, socket, void)
		c.want(t, exec, void)
	}
	(&container{err: &prober.NoAddressError{Mode: "none"}}).want(t, socket,
		fails("network_mode is none; use an exec probe"))
}
