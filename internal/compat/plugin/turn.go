package plugin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The limits on concurrent calls. A top-level call waits for a place. A nested call, made by a program of a plugin
// through the server, uses the place of the outer call and never waits: the call that it would wait for may wait for
// it, so it is refused instead. A plugin that calls itself thus ends with an error, and takes no place from others.
const (
	maxCalls  = 32 // places
	maxOfOne  = 8  // places of one caller
	maxWithin = 8  // calls within one call, all depths together
	maxDepth  = 4  // calls from the first to the innermost
)

// Origin is the caller of a plugin. A context carries it.
type Origin struct {
	// Caller is the caller whose places are counted.
	Caller string
	// Within is the id of the outer call (TEND_PLUGIN_CALL). Default: none. Once that call has ended, everything within
	// it is refused.
	Within string
}

type originKey struct{}

// From returns a context with the origin.
func From(ctx context.Context, origin Origin) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// OriginOf returns the origin that From put into the context.
func OriginOf(ctx context.Context) Origin {
	origin, _ := ctx.Value(originKey{}).(Origin)
	return origin
}

// turn is the right of one call or hook to run.
type turn struct {
	id, plugin, command, caller string
	// dry means that the call must have no effect; hook, that the turn belongs to a hook.
	dry, hook bool
	// outer is the turn of the outer call; nil for a turn with a place of its own.
	outer *turn
	// asked is the context that the call was made with.
	asked context.Context
}

// path returns the turns from the outermost to this one.
func (t *turn) path() []*turn {
	if t == nil {
		return nil
	}
	return append(t.outer.path(), t)
}

func (t *turn) String() string { return t.plugin + ":" + t.command }

// turns are the running calls. Safe for concurrent use.
type turns struct {
	mu      sync.Mutex
	running map[string]*turn
	// changing are the plugins whose folder is being replaced or removed: their calls can't begin.
	changing map[string]bool
	// ended is closed, and replaced by a new channel, when a turn ends or a change is done.
	ended chan struct{}
}

func newTurns() *turns {
	return &turns{running: map[string]*turn{}, changing: map[string]bool{}, ended: make(chan struct{})}
}

// take waits for a turn, at most for limit. The caller ends the turn with end.
func (t *turns) take(ctx context.Context, plugin, command string, dry bool, limit time.Duration) (*turn, error) {
	origin := OriginOf(ctx)
	next := &turn{id: randomID(), plugin: plugin, command: command, caller: origin.Caller, dry: dry, asked: ctx}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		t.mu.Lock()
		var why string
		outer, err := t.outer(ctx)
		if next.outer = outer; err == nil {
			why, err = t.refuses(next)
		}
		if err == nil && why == "" {
			next.dry = dry || next.outer != nil && next.outer.dry
			t.running[next.id] = next
		}
		ended := t.ended
		t.mu.Unlock()
		if err != nil || why == "" {
			return next, err
		}
		select {
		case <-ended:
		case <-timer.C:
			return nil, &Error{Reason: Busy, Plugin: plugin, Command: command,
				Detail: fmt.Sprintf("it waited %s for its turn: %s", limit, why),
				Next:   "nothing was done; try again when other calls have ended"}
		case <-ctx.Done():
			return nil, fmt.Errorf("plugin %s: %s: %w", plugin, command, context.Cause(ctx))
		}
	}
}

// outer returns the call that a context is within; nil if it is within none. The lock is held.
func (t *turns) outer(ctx context.Context) (*turn, error) {
	within := OriginOf(ctx).Within
	outer := t.running[within]
	if outer == nil && within != "" {
		return nil, ended(within)
	}
	return outer, nil
}

func ended(call string) error {
	return &Error{Reason: Ended,
		Detail: callID + "=" + shortened(call) + ": this plugin's call has ended, or runs on another server",
		Next: "a plugin waits for its requests before its call ends; what it leaves behind, or asks of another server, runs without " +
			callID}
}

// shortened returns the beginning of what may be any text.
func shortened(id string) string {
	if len(id) > 2*idBytes {
		return id[:2*idBytes] + "…"
	}
	return id
}

// refuses returns the reason why a call must wait, or an error if it may never begin. The lock is held.
func (t *turns) refuses(next *turn) (why string, err error) {
	path := next.outer.path()
	places, own, within := 0, 0, 0
	for _, other := range t.running {
		switch {
		case other.outer != nil:
			if len(path) > 0 && other.path()[0] == path[0] {
				within++
			}
		case other.caller == next.caller:
			own++
			fallthrough
		default:
			places++
		}
	}
	switch {
	case len(path) >= maxDepth:
		return "", nested(next, path)
	case len(path) > 0 && within >= maxWithin:
		return "", &Error{Reason: Busy, Plugin: next.plugin, Command: next.command,
			Detail: fmt.Sprintf("%d calls run within %s already", within, path[0]),
			Next:   "a plugin has to wait for its own calls to end"}
	case len(path) > 0 && t.changing[next.plugin]:
		return "", &Error{Reason: Busy, Plugin: next.plugin, Command: next.command, Detail: "it is being replaced or removed",
			Next: "try again when that is done"}
	case len(path) > 0:
		return "", nil
	case t.changing[next.plugin]:
		return "it is being replaced or removed", nil
	case own >= maxOfOne:
		return fmt.Sprintf("%d calls of the same caller run", own), nil
	case places >= maxCalls:
		return fmt.Sprintf("%d calls run", places), nil
	}
	return "", nil
}

func nested(next *turn, path []*turn) error {
	names := make([]string, len(path))
	for i, outer := range path {
		names[i] = outer.String()
	}
	return &Error{Reason: Nested, Plugin: next.plugin, Command: next.command,
		Detail: fmt.Sprintf("it is called within %s, and calls are nested at most %d deep",
			strings.Join(names, " → "), maxDepth),
		Next: "a plugin that calls itself has to come to an end: report it to its author"}
}

// end ends a turn and wakes those that wait.
func (t *turns) end(done *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, done.id)
	t.wake()
}

// wake wakes all waiting calls. The lock is held.
func (t *turns) wake() {
	close(t.ended)
	t.ended = make(chan struct{})
}

// change waits until no call of a plugin runs, and prevents new ones until done is called. The wait is bounded, because
// calls are.
func (t *turns) change(ctx context.Context, plugin string) (done func(), err error) {
	t.mu.Lock()
	t.changing[plugin] = true
	t.mu.Unlock()
	done = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.changing, plugin)
		t.wake()
	}
	for {
		t.mu.Lock()
		busy, ended := false, t.ended
		for _, other := range t.running {
			busy = busy || other.plugin == plugin
		}
		t.mu.Unlock()
		if !busy {
			return done, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			done()
			return nil, fmt.Errorf("plugin %s: %w while its calls ended", plugin, context.Cause(ctx))
		}
	}
}

// hook starts the turn of a hook without waiting: hooks run one at a time.
func (t *turns) hook(plugin, name, id string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := &turn{id: id, plugin: plugin, command: name, hook: true}
	t.running[next.id] = next
	return next
}

// mayInstall refuses to change plugins from within a hook, which would wait for itself.
func (t *turns) mayInstall(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	within, err := t.outer(ctx)
	for _, outer := range within.path() {
		if outer.hook {
			return &Error{Reason: Busy, Plugin: outer.plugin, Command: outer.command,
				Detail: "a hook can't install or remove plugins: one is changed at a time",
				Next:   "install what it needs before it"}
		}
	}
	return err
}

// mayChange refuses to replace or remove a plugin from within one of its own calls, which would wait for itself.
func (t *turns) mayChange(ctx context.Context, plugin string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	within, err := t.outer(ctx)
	for _, outer := range within.path() {
		if outer.plugin == plugin {
			return &Error{Reason: Busy, Plugin: plugin, Command: outer.command,
				Detail: "it runs this very call, and can't be replaced or removed from within it",
				Next:   "do it from a terminal"}
		}
	}
	return err
}

// Enter returns a context within a running call, with the context that the call was made with, and whether the call is
// part of a dry run, which must have no effect. A call that has ended lends its rights to nobody: that is an error.
func (r *Root) Enter(ctx context.Context, within string) (inside, asked context.Context, dry bool, err error) {
	if r == nil { // a server without plugins
		return ctx, nil, false, ended(within)
	}
	inside = From(ctx, Origin{Within: within})
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	outer, err := r.turns.outer(inside)
	switch {
	case err != nil || outer == nil:
		return ctx, ctx, false, err
	case outer.asked == nil: // a hook's
		return inside, context.Background(), outer.dry, nil
	}
	return inside, outer.asked, outer.dry, nil
}

// idBytes is the size of a call's id, which is in hexadecimal.
const idBytes = 16

func randomID() string {
	random := make([]byte, idBytes)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}
