package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/test/fault"
)

// drill runs a scenario against a server that may crash. After a crash it acts like a service manager, which starts
// another server over the same store and engine, and like a user, who repeats the request.
type drill struct {
	t      *testing.T
	m      *machine
	client *client.Client
	audit  *audit
	log    *diary

	// nodes makes the server listen for nodes, and for the operators of clusters, at address.
	nodes   bool
	address string

	lives  []*fault.Points // of the servers to come; later ones have none
	faults *fault.Points   // of the server that runs
	ahead  atomic.Int64    // by which the servers' clock is
	stop   func()          // stops it and waits for its end
	deaths int
}

// newDrill starts a server with the first failpoints; its successors get the next ones.
func newDrill(t *testing.T, nodes bool, lives ...*fault.Points) *drill {
	t.Helper()
	d := &drill{t: t, m: newMachine(t), log: &diary{}, nodes: nodes, lives: lives, stop: func() {}}
	d.m.engine.Close()
	d.m.engine = hollow.NewEngine(hollow.Options{Behaviour: rejectBad})
	d.audit = startAudit(t, d.m.store.(*memory.Store))
	var err error
	if d.client, err = client.New(client.Options{Server: "unix://" + filepath.Join(d.m.root, "tend.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.stop()
		d.client.Close()
		if t.Failed() {
			t.Log(d.log.String())
		}
	})
	d.start()
	return d
}

// rejectBad makes the engine reject the containers of one image.
func rejectBad(spec runtime.ContainerSpec) hollow.Behaviour {
	if spec.Image != badImage {
		return hollow.Behaviour{}
	}
	return hollow.Behaviour{CreateError: &runtime.RejectedError{Reason: "InvalidMount", Detail: "no such folder"}}
}

func (d *drill) start() {
	var faults *fault.Points
	if len(d.lives) > 0 {
		faults, d.lives = d.lives[0], d.lives[1:]
	}
	d.faults = faults
	var listener net.Listener
	if d.nodes {
		var err error
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { _ = listener.Close() })
		d.address = listener.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	logger := slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	go func() {
		defer close(done)
		err := Run(ctx, Options{
			Options: host.Options{
				Root: d.m.root, Node: "n1", Runtime: "hollow", AroundRuntime: faults.Runtime, Logger: logger,
				Heartbeat: 20 * time.Millisecond, Resync: resync(),
				Now: func() time.Time { return time.Now().Add(time.Duration(d.ahead.Load())) },
				Engine: func(cluster, node string) (runtime.Runtime, error) {
					return d.m.engine.Client(cluster, node), nil
				},
			},
			HTTP: "off", Nodes: listener, Store: kept{d.m.store}, AroundStore: faults.Store,
		})
		logger.Info("the server ended", "error", err)
	}()
	go func() {
		select {
		case <-faults.Crashed():
			cancel()
		case <-done:
		}
	}()
	d.stop = func() { cancel(); <-done }
}

// resync returns the resync interval: with -every-hit it is practically infinite, so that nothing converges only
// through it.
func resync() time.Duration {
	if *everyHit {
		return time.Hour
	}
	return 0
}

// revive replaces a dead server. It reports whether the server was dead.
func (d *drill) revive() bool {
	select {
	case <-d.faults.Crashed():
	default:
		return false
	}
	d.deaths++
	d.stop()
	d.start()
	return true
}

// declare repeats a request until a server has accepted it. A live server accepts it at once.
func (d *drill) declare(what string, say func(ctx context.Context) error) {
	d.t.Helper()
	d.until("the server is ready to hear: "+what, func(ctx context.Context) bool {
		readiness, err := d.client.Readiness(ctx)
		return err == nil && readiness.Ready
	})
	for {
		err := say(context.Background())
		if err == nil {
			return
		}
		if !d.revive() {
			d.t.Fatalf("%s: %v", what, err)
		}
		d.until("the next server is ready", func(ctx context.Context) bool {
			readiness, err := d.client.Readiness(ctx)
			return err == nil && readiness.Ready
		})
	}
}

// until waits for a condition, and replaces the server if it dies.
func (d *drill) until(what string, holds func(ctx context.Context) bool) {
	d.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds(context.Background()) {
		select {
		case <-tick.C:
			d.revive()
		case <-deadline.C:
			d.t.Fatalf("in vain: %s", what)
		}
	}
}

// patience is more than a resync and the backoffs of a few retries.
const patience = 2 * time.Minute

// diary keeps the end of a log for a failing test.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *diary) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if over := l.text.Len() - diaryBytes; over > 0 {
		l.text.Next(over)
	}
	return l.text.Write(p)
}

const diaryBytes = 64 << 10

func (l *diary) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
