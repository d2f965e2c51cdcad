package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
)

// The backoff between two attempts to reach the engine.
const (
	firstReconnect = 100 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// watcher keeps the container cache current: one event stream, a full list at its beginning, and another every Resync.
type watcher struct {
	reconciler.Member
	agent *Agent
	// listed is closed after the first attempt to reach the engine, whether it succeeded or not.
	listed chan struct{}
	once   sync.Once
	// found is set once the engine has listed its containers.
	found atomic.Bool
	// unguard ends the watch over processes; nil while the engine's events report them.
	unguard func()
	guards  recovery.Group
	// trouble says why the engine doesn't answer; nil while it does.
	trouble atomic.Pointer[string]
}

func newWatcher(a *Agent) *watcher {
	w := &watcher{agent: a, listed: make(chan struct{})}
	w.Member = reconciler.NewMember(w.watch)
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
	var backoff time.Duration // none after a stream: the engine may be back already
	for ctx.Err() == nil {
		began := time.Now()
		reached, err := w.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		w.agent.containers.gap()
		w.guard(ctx)
		switch {
		case !reached:
			w.lost(err)
			backoff = max(backoff, firstReconnect)
		case time.Since(began) > lastReconnect: // else streams that end at once are spaced too
			backoff = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff):
		}
		backoff = min(max(2*backoff, firstReconnect), lastReconnect)
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
	lists := &lister{agent: w.agent}
	defer lists.wait.Wait()
	defer cancel()
	if err := lists.compare(ctx, true); err != nil {
		return false, err
	}
	w.answered()
	ticker := time.NewTicker(w.agent.opts.Resync)
	defer ticker.Stop()
	for {
		select {
		case event, open := <-events:
			if !open {
				return true, errStreamEnded
			}
			w.agent.handleEvent(event)
		case <-ticker.C:
			lists.begin(ctx)
		}
	}
}

// guard watches the containers' processes while the engine can't report them: an engine that crashed ends them when it
// starts, and reassigns their addresses before it answers.
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

// answered records that the engine answers.
func (w *watcher) answered() {
	w.found.Store(true)
	w.release()
	if w.trouble.Swap(nil) != nil {
		w.agent.log.Info("the container engine answers again")
	}
	w.once.Do(func() { close(w.listed) })
	w.agent.machine.refresh()
	w.agent.wakeAll()
}

// lost records that the engine doesn't answer.
func (w *watcher) lost(err error) {
	message := err.Error()
	if w.trouble.Swap(&message) == nil {
		w.agent.log.Error("the container engine does not answer", "error", err)
		w.agent.machine.refresh()
		w.agent.wakeAll()
	}
	w.once.Do(func() { close(w.listed) })
}

// handleEvent handles one event.
func (a *Agent) handleEvent(event runtime.Event) {
	if event.Kind == runtime.EventImage {
		a.images.Enqueue(a.imageKeys()...)
		return
	}
	// The effect of the agent's own stop is observed when the stop returns: until then the engine blocks every
	// inspection, and a worker that waits starts nothing.
	if event.Kind == runtime.EventDie {
		defer a.serving.changed()
	}
	if a.containers.recordEvent(event) && !a.stops.runs(event.Container) {
		a.tasks.Enqueue(taskKey(event.Task))
	}
}

// lister compares with the engine's full list, one list at a time in parallel to the events.
type lister struct {
	agent *Agent
	wait  recovery.Group
	busy  atomic.Bool
}

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
		l.agent.serving.changed() // the containers may have other addresses now
	}
	l.agent.machine.refresh()
	l.agent.beginLookBeside(ctx)
	return nil
}
