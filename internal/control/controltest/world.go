package controltest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/scheduler"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Options say what a world is made of.
type Options struct {
	// Controllers returns the controllers under test. It is called again whenever they are served again.
	Controllers func(w *World) []control.Controller
	// Images maps the images that the node has at first to their ids.
	Images map[string]string
}

// World is a store with its view, the controllers over it, and a node, n1.
type World struct {
	testing.TB
	Options
	Store *memory.Store
	View  *view.View
	Node  *Node
	// Commits, if not nil, gets the commits of the controllers and of the scheduler instead of Store.
	Commits records.Committer

	board     *board.Board
	ends      func()
	mu        sync.Mutex
	listeners []func(view.Change)
}

// Run runs a test in a world of its own.
func Run(t *testing.T, opts Options, do func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{TB: t, Options: opts, Store: memory.New()}
		w.View = view.New(w.Store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		w.View.OnChange(w.changed)
		ctx, cancel := context.WithCancel(context.Background())
		viewed := make(chan error, 1)
		go func() { viewed <- w.View.Run(ctx) }()
		<-w.View.Synced()
		w.SetNode("n1", true)
		w.Node = newNode(w, opts.Images)
		w.Serve()
		do(w)
		w.Stop()
		w.Node.stop()
		cancel()
		<-viewed
		_ = w.Store.Close()
	})
}

// OnChange registers a listener for parts that start later than the view: a running view takes none.
func (w *World) OnChange(fn func(view.Change)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = append(w.listeners, fn)
}

func (w *World) changed(change view.Change) {
	w.mu.Lock()
	listeners := w.listeners
	w.mu.Unlock()
	for _, fn := range listeners {
		fn(change)
	}
}

// Snapshot returns the newest snapshot of the store.
func (w *World) Snapshot() records.Snapshot { return records.Snapshot{Reader: w.View.Snapshot()} }

// Deps returns what a controller of this world is made with.
func (w *World) Deps() control.Deps {
	deps := control.Deps{Snapshot: w.Snapshot, Store: w.Store, Sealer: Sealer{}, Board: w.board}
	if w.Commits != nil {
		deps.Store = w.Commits
	}
	return deps
}

// Serve starts the controllers; Stop ends them as a crash does: what they held in memory is lost.
func (w *World) Serve() {
	var alive atomic.Bool
	alive.Store(true)
	w.board = board.New()
	var members []reconciler.Member
	for _, c := range append([]control.Controller{scheduler.New(w.Deps())}, w.Controllers(w)...) {
		opts := reconciler.Options{
			Name: c.Name(), Reconciler: c, Replay: c.Keys, Dirty: c.Dirty, Synced: w.View.Synced(),
			Revision: w.View.Revision, WaitFor: w.View.WaitFor,
		}
		if many, ok := c.(interface{ Workers() int }); ok {
			opts.Workers = many.Workers()
		}
		work := reconciler.New(opts)
		w.OnChange(func(change view.Change) {
			if alive.Load() {
				work.Enqueue(c.Affected(w.Snapshot(), change)...)
			}
		})
		members = append(members, work)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- reconciler.NewGroup(reconciler.GroupOptions{}, members...).Run(ctx) }()
	w.ends = func() {
		alive.Store(false)
		cancel()
		<-done
	}
}

// Stop ends the controllers, if they are served.
func (w *World) Stop() {
	if w.ends != nil {
		w.ends()
	}
	w.ends = nil
}

// Pass lets time pass, and waits until everything that follows from it has settled.
func (w *World) Pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Sealer leaves values in plain text.
type Sealer struct{}

// Encrypt implements control.Sealer.
func (Sealer) Encrypt(plain []byte) ([]byte, error) { return append([]byte("sealed:"), plain...), nil }

// Decrypt implements control.Sealer.
func (Sealer) Decrypt(sealed []byte) ([]byte, error) { return sealed[len("sealed:"):], nil }

// HMAC implements control.Sealer.
func (Sealer) HMAC(data []byte) string { return "hmac:" + string(data) }
