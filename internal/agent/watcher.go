package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/runtime"
)

// The rests between two attempts to reach the engine.
const (
	firstReconnect = 100 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// watcher keeps the containers known: one event stream, a full list where it begins, and one every Resync beside it.
type watcher struct {
	member
	agent *Agent
	// looked closes after the first attempt to reach the engine, whatever came of it.
	looked chan struct{}
	once   sync.Once
	// unguard ends the watch over processes; nil while the engine's events tell of them.
	unguard func()
	guards  sync.WaitGroup
	// trouble says why the engine doesn't answer; nil while it does.
	trouble atomic.Pointer[string]
}

func newWatcher(a *Agent) *watcher {
	w := &watcher{agent: a, looked: make(chan struct{})}
	w.member = newMember(w.watch)
	return w
}

// watch follows the engine until ctx ends.
func (w *watcher) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-w.agent.control.Synced():
	}
	defer w.release()
	rest := firstReconnect
	for ctx.Err() == nil {
		reached, err := w.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		w.agent.containers.gap()
		w.guard(ctx)
		if reached {
			rest = firstReconnect
			continue // at once: it may be back already
		}
		w.lost(err)
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
		rest = min(2*rest, lastReconnect)
	}
	return nil
}

// follow reads one stream to its end.
func (w *watcher) follow(ctx context.Context) (reached bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := w.agent.runtime.Events(ctx)
	if err != nil {
		return false, err
	}
	lists := newLister(w.agent)
	defer lists.wait.Wait()
	defer cancel()
	if err := lists.first(ctx); err != nil {
		return false, err
	}
	w.found()
	ticker := time.NewTicker(w.agent.opts.Resync)
	defer ticker.Stop()
	for {
		select {
		case event, open := <-events:
			if !open {
				return true, errStreamEnded
			}
			w.agent.happened(event)
		case <-ticker.C:
			lists.begin(ctx)
		}
	}
}

// guard watches over the containers' processes while the engine can't tell of them: an engine that crashed ends them when it
// starts, and deals their addresses out anew before it answers.
func (w *watcher) guard(ctx context.Context) {
	if w.unguard != nil {
		return
	}
	ctx, w.unguard = context.WithCancel(ctx)
	running := w.agent.containers.all()
	w.guards.Go(func() {
		w.agent.runtime.WatchProcesses(ctx, running, func(c runtime.Container) {
			w.agent.containers.ended(c)
			w.agent.serving.changed()
		})
	})
}

// release ends what guard began.
func (w *watcher) release() {
	if w.unguard != nil {
		w.unguard()
		w.unguard = nil
		w.guards.Wait()
	}
}

// found: the engine answers.
func (w *watcher) found() {
	w.release()
	if w.trouble.Swap(nil) != nil {
		w.agent.log.Info("the container engine answers again")
	}
	w.once.Do(func() { close(w.looked) })
	w.agent.machine.look()
	w.agent.wakeAll()
}

// lost: the engine doesn't answer.
func (w *watcher) lost(err error) {
	message := err.Error()
	if w.trouble.Swap(&message) == nil {
		w.agent.log.Error("the container engine does not answer", "error", err)
		w.agent.machine.look()
		w.agent.wakeAll()
	}
	w.once.Do(func() { close(w.looked) })
}

// happened takes one event in.
func (a *Agent) happened(event runtime.Event) {
	if event.Kind == runtime.EventImage {
		a.images.Enqueue(a.imageKeys()...)
		return
	}
	// What our own stop causes is looked at when the stop returns: until then the engine keeps whoever asks waiting, and
	// a worker that waits starts nothing.
	if event.Kind == runtime.EventDie {
		defer a.serving.changed()
	}
	if a.containers.happened(event) && !a.stops.runs(event.Container) {
		a.tasks.Enqueue(taskKey(event.Task))
	}
}

// lister compares with the engine's full list, one at a time beside the events.
type lister struct {
	agent *Agent
	wait  sync.WaitGroup
	busy  atomic.Bool
}

func newLister(a *Agent) *lister { return &lister{agent: a} }

func (l *lister) first(ctx context.Context) error { return l.compare(ctx, true) }

func (l *lister) begin(ctx context.Context) {
	if !l.busy.CompareAndSwap(false, true) {
		return
	}
	l.wait.Go(func() {
		defer l.busy.Store(false)
		if err := l.compare(ctx, false); err != nil && ctx.Err() == nil {
			l.agent.log.Warn("listing containers failed; it is done again", "error", err)
		}
	})
}

func (l *lister) compare(ctx context.Context, gap bool) error {
	mark := l.agent.containers.mark()
	listed, err := l.agent.runtime.List(ctx)
	if err != nil {
		return err
	}
	tasks := l.agent.containers.compare(listed, mark, gap)
	for _, task := range tasks {
		l.agent.tasks.Enqueue(taskKey(task))
	}
	if gap || len(tasks) > 0 {
		l.agent.serving.changed() // where the containers are reached may be another place now
	}
	l.agent.machine.look()
	return nil
}
