package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tend_0123456789abcdef"

// world is a server with two listeners, on a store in memory.
type world struct {
	t          testing.TB
	store      *memory.Store
	view       *view.View
	server     *server.Server
	containers *fakeContainers
	socket     string
	http       string
	// https is the address of the listener for other machines, and pin the fingerprint of its authority.
	https, pin string
	// peer is the address from which that listener's connections come; nil for where they come from.
	peer   *atomic.Pointer[net.TCPAddr]
	client *client.Client
	stop   func() error
}

func newWorld(t testing.TB, change ...func(*server.Options)) *world {
	t.Helper()
	w := &world{t: t, peer: &atomic.Pointer[net.TCPAddr]{}, store: memory.New(),
		containers: &fakeContainers{logs: map[string]*fakeLog{}}}
	quiet := slog.New(slog.DiscardHandler)
	w.view = view.New(w.store, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: quiet, History: 50})
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { _ = w.view.Run(ctx) })
	<-w.view.Synced()
	// The view must have a revision to be complete.
	w.put(records.SchemaKey, "1")
	nodes := &nodeapi.Fleet{}
	nodes.Add("n1", w.containers)
	opts := server.Options{View: w.view, Nodes: nodes, Token: token, Version: "test", Decode: manifest.Decode,
		Drain: 5 * time.Second, Logger: quiet,
		Verbs: verbs.New(verbs.Options{Store: w.store, Reader: verbs.FromView{Store: w.store, View: w.view},
			Validate: manifest.Validate, Logger: quiet, Rebalance: board.New().Rebalance,
			Seal: func(b []byte) ([]byte, error) { return append([]byte("sealed "), reversed(b)...), nil },
			Open: func(b []byte) ([]byte, error) { return reversed(bytes.TrimPrefix(b, []byte("sealed "))), nil }})}
	for _, c := range change {
		c(&opts)
	}
	w.server = server.New(opts)
	w.socket = filepath.Join(t.TempDir(), "tend.sock")
	unix, err := server.ListenUnix(w.socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := server.ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.http = "http://" + tcp.Addr().String()
	remote := w.remote()
	served := make(chan error, 1)
	serving, end := context.WithCancel(ctx)
	go func() {
		served <- w.server.Serve(serving, server.Endpoint{Listener: unix, Trusted: true},
			server.Endpoint{Listener: tcp}, remote)
	}()
	w.stop = sync.OnceValue(func() error { end(); return <-served })
	w.client = w.dial("unix://"+w.socket, "")
	t.Cleanup(func() {
		if err := w.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		cancel()
		wait.Wait()
		w.store.Close()
	})
	return w
}

func reversed(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[len(b)-1-i] = b[i]
	}
	return out
}

func (w *world) dial(address, token string) *client.Client {
	w.t.Helper()
	c, err := client.New(client.Options{Server: address, Token: token})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// put writes a record as another part of Tend would, and waits for the view to have it.
func (w *world) put(key string, record any) int64 {
	w.t.Helper()
	revision, err := records.NewTxn("test").Put(key, record).Commit(context.Background(), w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.view.WaitFor(context.Background(), revision); err != nil {
		w.t.Fatal(err)
	}
	return revision
}

func (w *world) delete(key string) {
	w.t.Helper()
	revision, err := records.NewTxn("test").Delete(key).Commit(context.Background(), w.store)
	if err == nil {
		err = w.view.WaitFor(context.Background(), revision)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) apply(name, spec string) api.ApplyResult {
	w.t.Helper()
	result, err := w.client.Apply(w.t.Context(), api.ApplyRequest{Objects: []api.Object{deployment(name, spec)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// running adds a pod of prod/<name> as the scheduler and the agent would.
func (w *world) running(name, slot string, ready bool) api.Task {
	task := api.Task{ID: "task-" + slot, Kind: api.KindDeployment, Scope: "prod", Name: name, Slot: slot, Node: "n1",
		Release: "v1", Desired: api.DesiredRunning, CreatedAt: started, Class: api.ClassKeep}
	if object := (records.Snapshot{Reader: w.view.Snapshot()}).Object(task.Owner()); object.Exists() {
		task.OwnerUID = object.Value.Metadata.UID
	}
	w.put(records.TaskKey(task.ID), task)
	w.put(records.SlotKey(task.Owner(), slot), task.ID)
	w.put(records.TaskStatusKey(task.ID), api.TaskStatus{ID: task.ID, Node: "n1", State: api.TaskRunning, Ready: ready,
		Container: "c-" + slot, StartedAt: started, Incarnations: 1, Reason: map[bool]string{false: "ProbeFailed"}[ready]})
	return task
}

var started = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func deployment(name, spec string) api.Object {
	return api.Object{Kind: api.KindDeployment, Scope: "prod", Name: name, Spec: json.RawMessage(spec)}
}

func ref(name string) api.Ref {
	return api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}
}

// raw sends a request over the unix socket and answers status, problem and body.
func (w *world) raw(method, path, contentType, body string) (*http.Response, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, "http://tend"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return w.do(request)
}

func (w *world) do(request *http.Request) (*http.Response, string) {
	w.t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	if request.URL.Host == "tend" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", w.socket)
		}
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response, string(answer)
}

// wantProblem checks that an answer is a problem with what, and the next step.
func wantProblem(t testing.TB, response *http.Response, body string, status int) api.Problem {
	t.Helper()
	var problem api.Problem
	if response.StatusCode != status || response.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("status %d %s, want %d as a problem: %s", response.StatusCode,
			response.Header.Get("Content-Type"), status, body)
	}
	if err := json.Unmarshal([]byte(body), &problem); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if problem.Status != status || problem.Title == "" || problem.Detail == "" || problem.Next == "" {
		t.Errorf("the problem lacks title, detail or next: %s", body)
	}
	return problem
}
