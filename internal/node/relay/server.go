package relay

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/recovery"
)

// ErrEarly is in the errors of May and Endpoint while the node can't know: its agent has just begun.
var ErrEarly = errors.New("the node does not know its pods yet")

// Options make a Relay. All but Logger are required.
type Options struct {
	Own authority.Own
	// May returns why a machine may not ask for a port of a task, or, if no task is named, for any; nil if it may.
	May func(by authority.Machine, task string, port int, protocol string) error
	// Endpoint returns where a pod of this node listens now, for a task, a port and a protocol. Its errors go to the
	// caller.
	Endpoint func(task string, port int, protocol string) (string, error)
	Logger   *slog.Logger
}

// Relay takes connections of other nodes to the pods of this one. Create it with New; it runs once.
type Relay struct {
	Options
	limit     int // of connections
	finishing atomic.Bool
	stirred   chan struct{}

	mu    sync.Mutex
	open  map[*link]bool
	tasks map[string]*destination
}

// destination is a task that connections lead to.
type destination struct {
	links int
	over  chan struct{} // closed once there is none any more
}

// link is a connection of another node.
type link struct {
	of    authority.Machine
	asked request // empty before it was read
	// cut ends it at once. It waits for nothing: tls.Conn.Close would say goodbye to a caller that takes nothing.
	cut  context.CancelFunc
	last spoken
}

// Limits. The file of a connection to a pod belongs to each that another node makes.
const (
	mostLinks = 16 << 10
	headTime  = 5 * time.Second
	dialTime  = 1500 * time.Millisecond
)

// New returns a Relay.
func New(o Options) *Relay {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Relay{
		Options: o, limit: connlimit.Within(connlimit.Files(), 4, mostLinks), open: map[*link]bool{},
		tasks: map[string]*destination{}, stirred: make(chan struct{}, 1),
	}
}

// Run takes connections until ctx ends. Then requests under way have up to ten seconds; for most of them others are
// taken still, since no process takes them in its place yet. It closes the listener.
func (r *Relay) Run(ctx context.Context, listener net.Listener) error {
	listener = connlimit.New(listener, connlimit.Options{Total: r.limit, Name: "relay", Logger: r.Logger})
	var running recovery.Group
	defer running.Wait()
	links, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	finished := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(finished)
		r.finish(listener)
	})
	defer stop()
	// who may not ask gets the reason as an answer: see admit
	config := r.Own.Between(Protocol, func(authority.Machine) error { return nil })
	for {
		conn, err := listener.Accept()
		if err != nil && ctx.Err() != nil {
			<-finished
			return nil
		}
		if err != nil {
			return err
		}
		running.Go(func() { r.serve(links, tls.Server(conn, config)) })
	}
}

// serve answers one caller.
func (r *Relay) serve(ctx context.Context, conn *tls.Conn) {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	own := &link{cut: cut}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
	defer stop()
	to, err := r.admit(ctx, own, conn)
	if err != nil {
		r.Logger.Debug("a connection of another node was refused", "node", own.of.Node, "task", own.asked.Task,
			"error", err)
		return
	}
	if to == nil { // it only asked whether it may
		return
	}
	defer r.end(own)
	defer to.Close()
	defer context.AfterFunc(ctx, func() { _ = to.Close() })() // a pod that reads nothing holds up the end otherwise
	heard := heard{conn, &own.last, own.asked.HTTP, r}
	if pod, ok := to.(*net.TCPConn); ok {
		Join(heard, pod)
	} else {
		exchange(Packets(heard), to)
	}
}

// admit reads what a caller asks for, answers it, and returns the connection to the pod.
func (r *Relay) admit(ctx context.Context, own *link, conn *tls.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	if err := conn.SetDeadline(time.Now().Add(headTime)); err != nil {
		return nil, err
	}
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	var err error
	if own.of, err = authority.MachineOn(conn.ConnectionState()); err != nil {
		return nil, err
	}
	var asked request
	if err := readHead(conn, &asked); err != nil {
		return nil, err
	}
	own.asked = asked
	err = r.May(own.of, asked.Task, asked.Port, asked.protocol())
	if err == nil && asked.Task == "" {
		return nil, writeHead(conn, answer{})
	}
	var to net.Conn
	if err == nil {
		to, err = r.connect(ctx, own, asked)
	}
	if err != nil {
		return nil, errors.Join(err, writeHead(conn, answer{Error: short(err), Early: errors.Is(err, ErrEarly)}))
	}
	err = writeHead(conn, answer{})
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		r.end(own)
		_ = to.Close()
		return nil, err
	}
	return to, nil
}

// maxReason bounds the error in an answer, in bytes.
const maxReason = 512

func short(err error) string {
	text := err.Error()
	return text[:min(len(text), maxReason)]
}

// connect connects to the pod of a task. The link counts before the task is looked up: Drained, called once the task
// gets no more requests, misses none.
func (r *Relay) connect(ctx context.Context, own *link, asked request) (net.Conn, error) {
	r.begin(own)
	protocol := asked.protocol()
	if protocol != api.ProtocolTCP && protocol != api.ProtocolUDP {
		r.end(own)
		return nil, fmt.Errorf("it is asked for %q: a relay carries tcp and udp", protocol)
	}
	address, err := r.Endpoint(asked.Task, asked.Port, protocol)
	if err == nil {
		err = r.May(own.of, asked.Task, asked.Port, protocol) // once more: Recheck closes the link from here on
	}
	if err != nil {
		r.end(own)
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	to, err := dialer.DialContext(ctx, protocol, address)
	if err != nil {
		r.end(own)
		return nil, err
	}
	return to, nil
}

func (r *Relay) begin(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.last.say(byPod)
	r.open[l] = true
	if r.tasks[l.asked.Task] == nil {
		r.tasks[l.asked.Task] = &destination{over: make(chan struct{})}
	}
	r.tasks[l.asked.Task].links++
}

func (r *Relay) end(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, l)
	to := r.tasks[l.asked.Task]
	if to.links--; to.links == 0 {
		close(to.over)
		delete(r.tasks, l.asked.Task)
	}
	r.stir()
}

// Drained waits until no connection of another node leads to a task any more, or until ctx ends. Other nodes close
// theirs once they know that the task gets no more requests, and the last request is answered.
func (r *Relay) Drained(ctx context.Context, task string) error {
	r.mu.Lock()
	to := r.tasks[task]
	r.mu.Unlock()
	if to == nil {
		return nil
	}
	select {
	case <-to.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recheck closes the connections of machines that may not ask any more.
func (r *Relay) Recheck() {
	type question struct {
		of    authority.Machine
		asked request
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	may := map[question]bool{}
	for l := range r.open {
		q := question{l.of, l.asked}
		if _, judged := may[q]; !judged {
			may[q] = r.May(l.of, l.asked.Task, l.asked.Port, l.asked.protocol()) == nil
		}
		if !may[q] {
			l.cut()
		}
	}
}
