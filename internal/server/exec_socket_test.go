package server_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/client/execwire"
	"tend.dev/tend/internal/node/runtime"
)

// open opens a command's WebSocket as any program would.
func (w *world) open(pod string) (*websocket.Conn, error) {
	conn, response, err := websocket.Dial(w.t.Context(), w.http+"/v1/pods/"+pod+"/exec", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}, Subprotocols: []string{"v1.exec.tend.dev"}})
	if err != nil {
		return nil, err
	}
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	if got := response.Header.Get("Sec-WebSocket-Protocol"); got != "v1.exec.tend.dev" {
		w.t.Errorf("subprotocol %q", got)
	}
	return conn, nil
}

// TestExecByAWebSocket speaks the protocol byte by byte, as a browser does.
func TestExecByAWebSocket(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	running := newEcho(42)
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return running, nil }
	conn, err := w.open(pod.ContainerName())
	if err != nil {
		t.Fatal(err)
	}
	say := func(kind websocket.MessageType, message string) {
		t.Helper()
		if err := conn.Write(t.Context(), kind, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	say(websocket.MessageText, `{"command":["tr","a-z","A-Z"],"stdin":true,"tty":true}`)
	say(websocket.MessageText, `{"resize":{"width":120,"height":50}}`)
	if size := <-running.sizes; size != [2]int{120, 50} {
		t.Errorf("resized to %v", size)
	}
	say(websocket.MessageBinary, "\x00hello")
	say(websocket.MessageText, `{"eof":true}`)
	var stdout, stderr, last string
	for {
		kind, message, err := conn.Read(t.Context())
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("ended with %v", err)
			}
			break
		}
		switch {
		case kind == websocket.MessageText:
			last = string(message)
		case message[0] == 1:
			stdout += string(message[1:])
		case message[0] == 2:
			stderr += string(message[1:])
		}
	}
	if stdout != "HELLO" || stderr != "a warning" || last != `{"exit":{"code":42}}` {
		t.Errorf("stdout %q, stderr %q, the last message %s", stdout, stderr, last)
	}
}

// TestExecOfNoCommand: a faulty first message is answered by an error message with the next step.
func TestExecOfNoCommand(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	for message, want := range map[string]string{
		`{"command":[]}`: "no command", `{"command":["a"],"shell":true}`: "shell", `7`: "can't be read",
		"\x00": "can't be read",
	} {
		conn, err := w.open(pod.ContainerName())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
		_, err = execwire.Output(t.Context(), conn, nil, nil)
		if client.StatusOf(err) != 400 || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `{"command": […]}`) {
			t.Errorf("%s: %v, want %q", message, err, want)
		}
	}
}

// endless is input without an end.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestExecThroughAProxy: a reverse proxy passes everything on, also the exit code of a command that ends while input is
// still arriving.
func TestExecThroughAProxy(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	target, err := url.Parse(w.http)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	t.Cleanup(proxy.Close)
	c := w.dial(proxy.URL, token)
	text := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	for name, test := range map[string]struct {
		running runtime.Exec
		stdin   io.Reader
		want    []byte
		code    int
	}{
		"echo":             {newEcho(42), bytes.NewReader(text), bytes.ToUpper(text), 42},
		"ends before them": {newDeaf(7), endless{}, []byte("done"), 7},
	} {
		w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return test.running, nil }
		var stdout bytes.Buffer
		code, err := c.Exec(t.Context(), pod.ContainerName(), api.ExecRequest{Command: []string{"x"}},
			client.ExecIO{Stdin: test.stdin, Stdout: &stdout})
		if code != test.code || err != nil || !bytes.Equal(stdout.Bytes(), test.want) {
			t.Errorf("%s: exit %d, %v, %d bytes of %d", name, code, err, stdout.Len(), len(test.want))
		}
	}
}

// newDeaf returns a command that has ended without reading anything.
func newDeaf(code int) runtime.Exec {
	_, stdin := io.Pipe()
	return &fakeExec{stdin: stdin, stdout: strings.NewReader("done"), stderr: strings.NewReader(""), code: code,
		closed: make(chan struct{})}
}

// TestWhoMayExec: an upgrade has the same requirements as every other request, and a page of another origin is refused
// on the socket, too. A client of an older version gets the next step.
func TestWhoMayExec(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	path := "/v1/pods/" + w.running("web", "aaaaaaaa", true).ContainerName() + "/exec"
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return newDeaf(0), nil }
	for name, test := range map[string]struct {
		base, method, token, origin, upgrade string
		status                               int
		says                                 string
	}{
		"no token":              {w.http, "GET", "", "", "websocket", 401, "token"},
		"a wrong token":         {w.http, "GET", "x", "", "websocket", 401, "token"},
		"another origin":        {w.http, "GET", token, "http://evil.example", "websocket", 403, "evil.example"},
		"another on the socket": {"http://tend", "GET", "", "http://evil.example", "websocket", 403, "evil.example"},
		"no upgrade":            {w.http, "GET", token, "", "", 426, "v1.exec.tend.dev"},
		"an older client":       {w.http, "POST", token, "", "tend-exec/1", 426, "`tend exec` of the server's version"},
		"its own origin":        {w.http, "GET", token, w.http, "websocket", 101, ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, test.base+path,
			strings.NewReader(`{"command":["ls"]}`))
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]string{"Authorization": "Bearer " + test.token, "Origin": test.origin,
			"Upgrade":    test.upgrade,
			"Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
			"Sec-WebSocket-Protocol": "v1.exec.tend.dev"} {
			if value != "" {
				request.Header.Set(key, value)
			}
		}
		if test.method == http.MethodGet {
			request.Body, request.ContentLength = http.NoBody, 0
		}
		if test.status == http.StatusSwitchingProtocols {
			response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
			if err != nil || response.StatusCode != test.status {
				t.Errorf("%s: %v, %v", name, response, err)
				continue
			}
			_ = response.Body.Close()
			continue
		}
		response, body := w.do(request)
		if problem := wantProblem(t, response, body, test.status); !strings.Contains(problem.Detail+problem.Next, test.says) {
			t.Errorf("%s: %+v, want %q", name, problem, test.says)
		}
	}
}

var _ execwire.Conn = (*websocket.Conn)(nil)
