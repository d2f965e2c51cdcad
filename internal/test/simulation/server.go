package simulation

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server/daemon"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/test/fault"
)

// server is one start of the server process.
type server struct {
	listener *pipe
	nodes    *pipe // nil while the agent is within the server
	edge     *edge
	faults   *fault.Points
	cancel   context.CancelFunc
	done     chan struct{}
	err      error // valid once done is closed
}

// start starts the server. No other start of it may be running.
func (w *World) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{listener: newPipe(), edge: &edge{}, cancel: cancel, done: make(chan struct{})}
	s.faults = fault.New(fault.Options{CrashWhen: w.crashes})
	w.server = s
	name, at := "", net.Addr(nil)
	if w.shared() {
		name, at = serverName(0), addressOf(0)
	}
	w.listener.Store(s.listener)
	w.lives++
	var nodes net.Listener
	if w.apart() {
		if s.nodes = newPipe(); at != nil {
			s.nodes = newPipeAt(at)
		}
		nodes = s.nodes
		for _, m := range w.agents {
			m.cable.plug(0, s.nodes)
		}
		if w.liar != nil {
			w.liar.cable.plug(0, s.nodes)
		}
		w.outsiders.plug(0, s.nodes)
	}
	paused := w.pausing == 0
	go func() {
		defer close(s.done)
		s.err = daemon.Run(ctx, daemon.Options{
			Options: host.Options{
				Root: w.root, Node: "n1", Runtime: "hollow", AroundRuntime: s.faults.Runtime, MinFree: -1, Logger: w.logger(),
				Edge: func(func()) agent.Edge { return s.edge },
				Engine: func(cluster, node string) (runtime.Runtime, error) {
					return w.engineFor(cluster, node), nil
				},
				Ask: w.answerProbe, Now: w.now,
			},
			Name: name, Shared: w.shared(), Paused: paused,
			HTTP: "off", Store: w.connect(s), AroundStore: s.faults.Store, Listener: s.listener, NoAgent: nodes != nil, Nodes: nodes,
		})
	}()
	go func() { // a crash is the end of the process
		select {
		case <-s.faults.Crashed():
			cancel()
		case <-s.done:
		}
	}()
}

func (w *World) logger() *slog.Logger {
	if w.opts.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(w.opts.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// kill ends the server between two points, wherever it is, and waits until all of its goroutines have ended.
func (w *World) kill() {
	w.server.die()
	<-w.server.done
	w.server.close()
}

// stop ends the server as a service manager does.
func (w *World) stop() {
	w.server.cancel()
	<-w.server.done
	w.server.close()
}

// die ends a life between two points.
func (s *server) die() {
	s.faults.End()
	s.cancel()
}

// close closes the listeners of a life that has ended.
func (s *server) close() {
	_ = s.listener.Close()
	if s.nodes != nil {
		_ = s.nodes.Close()
	}
}

// died returns a channel that is closed when the server has ended; nil if it is meant to be off.
func (w *World) died() <-chan struct{} {
	if w.off.Load() {
		return nil
	}
	return w.server.done
}

// revive restarts the server if it has ended, as a service manager does.
func (w *World) revive() {
	select {
	case <-w.died():
	default:
		return
	}
	w.server.close()
	if err := w.server.err; err != nil && !excused(err) {
		w.fail("the server ended by itself: %v", err)
	}
	w.start()
}

// excused reports whether a server may end with an error: its own crash, or a store or an engine that doesn't answer.
func excused(err error) bool {
	for _, cause := range []error{fault.ErrCrashed, errNoAnswer, store.ErrNoSpace, store.ErrUnknownOutcome,
		runtime.ErrUnavailable} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// newClient calls whichever server lives.
func (w *World) newClient() *client.Client {
	c, err := client.New(client.Options{Server: "http://simulation", Dial: func(ctx context.Context) (net.Conn, error) {
		return w.dialAny(ctx)
	}})
	if err != nil {
		panic(err) // its options are constant
	}
	return c
}

// now returns the wall clock of the server's machine. Probes aren't affected by its shifts: they count by Go's
// monotonic readings.
func (w *World) now() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) }

// answerProbe answers a probe of a container as its image behaves.
func (w *World) answerProbe(_ context.Context, a prober.Attempt) probe.Result {
	container, ok := w.engine.ByID(a.Container)
	if !ok || container.State != runtime.StateRunning {
		return probe.Result{Message: "connection refused"}
	}
	if w.behaviourOf(container.ImageID).neverReady && a.Kind == probe.Readiness {
		return probe.Result{Message: "503"}
	}
	return probe.Result{Pass: true}
}
