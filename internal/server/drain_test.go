package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// stopping begins to stop the server, and returns once it accepts no more connections.
func (w *world) stopping() (stopped chan error) {
	stopped = make(chan error, 1)
	go func() { stopped <- w.stop() }()
	address := strings.TrimPrefix(w.http, "http://")
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return stopped
		}
		conn.Close()
	}
}

func drainFor(d time.Duration) func(*server.Options) {
	return func(o *server.Options) { o.Drain = d }
}

// TestExecIsDrained: a command that ends within the drain time ends as if the server continued.
func TestExecIsDrained(t *testing.T) {
	w := newWorld(t, drainFor(time.Minute))
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return newEcho(7), nil }
	stdin, typing := io.Pipe()
	var said bytes.Buffer
	stopped := make(chan chan error, 1)
	var once sync.Once
	var stdout writerFunc = func(b []byte) (int, error) {
		once.Do(func() {
			go func() {
				stopped <- w.stopping()
				_, _ = typing.Write([]byte("more"))
				typing.Close()
			}()
		})
		return said.Write(b)
	}
	go func() { _, _ = typing.Write([]byte("some")) }()
	code, err := w.client.Exec(t.Context(), pod.ContainerName(), api.ExecRequest{Command: []string{"cat"}},
		client.ExecIO{Stdin: stdin, Stdout: stdout})
	if err != nil || code != 7 || said.String() != "SOMEMORE" {
		t.Errorf("exit code %d, %v, %q", code, err, said.String())
	}
	if err := <-<-stopped; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestLogsAreDrained: a client that follows them continues to read while the server drains.
func TestLogsAreDrained(t *testing.T) {
	w := newWorld(t, drainFor(time.Minute))
	w.apply("web", `{"image":"a"}`)
	pod := w.running("web", "aaaaaaaa", true)
	log := &fakeLog{lines: []runtime.LogLine{{At: started, Text: "before"}}, more: make(chan runtime.LogLine)}
	w.containers.set(pod.ID, log)
	stream, err := w.client.Logs(t.Context(), client.LogsOptions{Pod: pod.ContainerName(), Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	next := func(want string) {
		t.Helper()
		if line, err := stream.Next(); err != nil || line.Text != want {
			t.Fatalf("%+v, %v; want %s", line, err, want)
		}
	}
	next("before")
	stopped := w.stopping()
	log.more <- runtime.LogLine{At: started.Add(time.Second), Text: "while it drains"}
	next("while it drains")
	close(log.more)
	w.put(records.TaskStatusKey(pod.ID),
		api.TaskStatus{ID: pod.ID, Node: "n1", State: api.TaskComplete, Container: "c-aaaaaaaa",
			StartedAt: started, Incarnations: 1})
	if line, err := stream.Next(); err != io.EOF {
		t.Errorf("%+v, %v; want the end", line, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestAnOrdinaryRequestIsDrained: a request whose body is on its way is answered even though the server stops.
func TestAnOrdinaryRequestIsDrained(t *testing.T) {
	w := newWorld(t, drainFor(time.Minute))
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"kind":"deployment","scope":"prod","name":"web","spec":{"image":"a"}}`
	fmt.Fprintf(conn,
		"POST /v1/apply HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", token, len(body))
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		// the handler reads the body now
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = reader.ReadString('\n')
	_, _ = io.WriteString(conn, body[:20])
	stopped := w.stopping()
	_, _ = io.WriteString(conn, body[20:])
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("it was cut: %v", err)
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", response.Status, text)
	}
	if err := <-stopped; err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, there := w.view.Snapshot().Get(records.ObjectKey(api.Ref{Kind: api.KindDeployment, Scope: "prod",
		Name: "web"})); !there {
		t.Error("it was answered and not done")
	}
}

// TestRequestsAreLogged at debug level, with stable keys and without queries and tokens.
func TestRequestsAreLogged(t *testing.T) {
	var mu sync.Mutex
	var said bytes.Buffer
	logs := func(o *server.Options) {
		o.Logger = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return said.Write(b)
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	w, endpoint := newPluginWorld(t, nil, logs)
	w.raw("GET", "/v1/objects/deployment?scope=s3cr3t", "", "")
	ask(t, "GET", endpoint+"s3cr3t/config?scope=prod", "")
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"msg=request method=GET path=/v1/objects/deployment status=200 took=",
		"msg=request method=GET path=/config status=401 took="} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %s in\n%s", want, said.String())
		}
	}
	if strings.Contains(said.String(), "s3cr3t") {
		t.Errorf("a query or a token was logged:\n%s", said.String())
	}
}
