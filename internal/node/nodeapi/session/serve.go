package session

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"tend.dev/tend/internal/node/execstream"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/routemux"
)

// server is the node's end of a connection.
type server struct {
	node  nodeapi.Node
	ready <-chan struct{}
}

// The limits of a connection. A server reads the logs of all of a workload's pods at once, each in a stream of its own.
// The buffers of streams that aren't read fill up: they are small, for what all share must not be full of them.
const (
	maxStreams = 4096
	// maxAsked bounds what a server asks for: the names of pods.
	maxAsked = 16 << 20
	// inputBuffer bounds a command's unread input at the node, inputsBuffer that of all commands.
	inputBuffer  = 64 << 10
	inputsBuffer = 4<<20 - 1 // the most that net/http takes
	// outputBuffer bounds an answer that isn't read at the server: maxStreams of them fit into the 1 GiB that net/http
	// allows a connection.
	outputBuffer = 256 << 10
)

// Serve answers the server's requests on a connection until it is closed, or ctx ends. ready is closed when the agent
// has reconciled every task once.
func Serve(ctx context.Context, conn net.Conn, n nodeapi.Node, ready <-chan struct{}, log *slog.Logger) {
	s := &server{node: n, ready: ready}
	mux := s.routes()
	served := &http.Server{ //nolint:gosec // no limit for headers: this is the server, on a connection that the node dialled
		Handler: mux, Protocols: onlyHTTP2(),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: inputBuffer,
			MaxReceiveBufferPerConnection: inputsBuffer,
			SendPingTimeout:               pingAfter, PingTimeout: pingTime,
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	listener := &single{conns: make(chan net.Conn, 1), addr: conn.LocalAddr(), closed: make(chan struct{})}
	listener.conns <- &ending{Conn: conn, end: func() { _ = listener.Close() }}
	stop := context.AfterFunc(ctx, func() { _ = served.Close() })
	defer stop()
	_ = served.Serve(listener) // it ends with the connection
	_ = served.Close()
	_ = conn.Close() // which was not accepted if ctx ended at once
}

// routes returns the messages that a node answers.
func (s *server) routes() *routemux.Mux {
	n, mux := s.node, routemux.New()
	for pattern, answer := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /ready": s.awaitReady, "GET /containers": s.list, "POST /stats": s.sampler(n.Stats),
		"POST /load":       s.sampler(n.Load),
		"POST /stop/{pod}": s.stop, "POST /discard/{pod}": s.discard, "GET /builds/{name}": s.buildLog,
		"GET /logs/{pod}": s.reader(n.Logs), "GET /kept-logs/{pod}": s.reader(n.KeptLog), "POST /kept-logs": s.keptLogs,
		"POST /exec/{pod}": s.exec, "GET /images/{id}": s.image, "POST /find-image": s.findImage, "POST /disk": s.disk,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := answer(w, r); err != nil {
				wire.Fail(w, wire.ProblemOf(err))
			}
		})
	}
	return mux
}

// single is a listener that accepts one connection.
type single struct {
	conns  chan net.Conn
	addr   net.Addr
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (s *single) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *single) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr implements net.Listener.
func (s *single) Addr() net.Addr { return s.addr }

// ending is a connection that calls end when it is closed.
type ending struct {
	net.Conn
	end func()
}

// Close implements net.Conn.
func (e *ending) Close() error {
	defer e.end()
	return e.Conn.Close()
}

func (s *server) awaitReady(w http.ResponseWriter, r *http.Request) error {
	select {
	case <-s.ready:
		return wire.Write(w, struct{}{})
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func (s *server) list(w http.ResponseWriter, r *http.Request) error {
	listed, err := s.node.List(r.Context())
	if err != nil {
		return err
	}
	return wire.Write(w, listed)
}

func (s *server) sampler(
	sample func(context.Context, []string) []runtime.Usage,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var pods []string
		if err := (wire.Body{Most: maxAsked}).Read(w, r, &pods); err != nil {
			return err
		}
		usages := sample(r.Context(), pods)
		samples := make([]any, len(usages))
		for i, usage := range usages {
			samples[i] = sampleOf(usage)
		}
		return wire.Write(w, samples)
	}
}

func (s *server) stop(w http.ResponseWriter, r *http.Request) error {
	if err := s.node.Stop(r.Context(), r.PathValue("pod")); err != nil {
		return err
	}
	return wire.Write(w, struct{}{})
}

func (s *server) discard(w http.ResponseWriter, r *http.Request) error {
	if err := s.node.Discard(r.Context(), r.PathValue("pod")); err != nil {
		return err
	}
	return wire.Write(w, struct{}{})
}

func (s *server) disk(w http.ResponseWriter, r *http.Request) error {
	disk, err := s.node.Disk(r.Context(), r.URL.Query().Get("prune") == "true")
	if err != nil {
		return err
	}
	return wire.Write(w, disk)
}

func (s *server) buildLog(w http.ResponseWriter, r *http.Request) error {
	follow := r.URL.Query().Get("follow") == "true"
	out, begun := newWriter(w, follow), false
	err := s.node.BuildLog(r.Context(), r.PathValue("name"), follow, func(line string) error {
		begun = true
		return out.send(step{Line: &runtime.LogLine{Text: line}})
	})
	if err != nil && !begun {
		return err
	}
	out.end(err)
	return nil
}

func (s *server) image(w http.ResponseWriter, r *http.Request) error {
	has, err := wire.PartOf(r.URL.Query())
	if err != nil {
		return err
	}
	content, err := s.node.SaveImage(r.Context(), r.PathValue("id"), has)
	if err != nil {
		return err
	}
	defer content.Close()
	wire.Copy(w, content)
	return nil
}

func (s *server) exec(w http.ResponseWriter, r *http.Request) error {
	input := bufio.NewReader(r.Body)
	head, err := input.ReadBytes('\n')
	var opts runtime.ExecOptions
	if err == nil {
		err = json.Unmarshal(head, &opts)
	}
	if err != nil {
		return fmt.Errorf("the command can't be read: %w: %w", err, wire.ErrBadRequest)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	running, err := s.node.Exec(ctx, r.PathValue("pod"), opts)
	if err != nil {
		return err
	}
	defer running.Close()
	out := &flushed{ResponseController: http.NewResponseController(w), Writer: w}
	w.WriteHeader(http.StatusOK)
	if err := out.Flush(); err != nil {
		return nil
	}
	started := func(context.Context) (runtime.Exec, error) { return running, nil }
	execstream.Serve(ctx, cancel, execstream.Framed(input, out, r.Body.Close), started, wire.ProblemOf)
	return nil
}

// flushed is an answer that is sent with each write.
type flushed struct {
	*http.ResponseController
	io.Writer
}

// Write implements io.Writer.
func (f *flushed) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, f.Flush()
}
