package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A plugin that calls itself through its callback URL is stopped at a depth, and every call of the chain ends.
func TestPluginCallsItself(t *testing.T) {
	r := open(t, map[string]string{"p/bin/loop*": script("echo in")})
	p := r.must(t, "p")
	depth := 0
	var again Endpoint
	var last error
	again = func(ctx context.Context) (string, func(), error) {
		depth++
		if _, err := p.Dispatch(ctx, "p", "loop", nil, again); err != nil && last == nil {
			last = err
		}
		return "http://endpoint", func() {}, nil
	}
	if answer, err := p.Dispatch(t.Context(), "p", "loop", nil, again); err != nil || answer.Message != "in\n" {
		t.Errorf("the first call: %q, %v", answer.Message, err)
	}
	wantReason(t, last, Nested, "called within p:loop → p:loop → p:loop → p:loop")
	if depth != maxDepth || len(r.turns.running) != 0 {
		t.Errorf("it went %d deep, and %d turns are left", depth, len(r.turns.running))
	}
}

func (t *turns) must(tb *testing.T, origin Origin, plugin string) *turn {
	tb.Helper()
	next, err := t.take(From(tb.Context(), origin), plugin, "go", false, time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

// A call within a call never waits: beyond the bound it is refused, and all of them keep the one place of the first.
func TestCallsWithinACall(t *testing.T) {
	turns := newTurns()
	first := turns.must(t, Origin{}, "p")
	within := Origin{Within: first.id}
	for range maxWithin {
		turns.must(t, within, "q")
	}
	_, err := turns.take(From(t.Context(), within), "q", "go", false, time.Minute)
	wantReason(t, err, Busy, "8 calls run within p:go")
	for i := range maxCalls - 1 {
		turns.must(t, Origin{Caller: string(rune('a' + i/maxOfOne))}, "r")
	}
	turns.end(first)
	_, err = turns.take(From(t.Context(), within), "q", "go", false, time.Minute)
	wantReason(t, err, Ended, "has ended")
}

// TestNothingIsWithinACallThatHasEnded: it would have the rights of an operator, and no bound.
func TestNothingIsWithinACallThatHasEnded(t *testing.T) {
	r := open(t, map[string]string{"p/bin/go*": script("")})
	call := r.turns.must(t, Origin{}, "p")
	if _, _, _, err := r.Enter(t.Context(), call.id); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	if inside, asked, _, err := r.Enter(t.Context(), ""); inside != t.Context() || asked != t.Context() || err != nil {
		t.Errorf("within no call: %v", err)
	}
	r.turns.end(call)
	within := From(t.Context(), Origin{Within: call.id})
	_, _, _, entered := r.Enter(t.Context(), call.id)
	_, removed := r.Remove(within, "p")
	_, installed := r.Install(within, Request{Source: lay(t, t.TempDir(), simple("q", "1"))})
	_, called := r.must(t, "p").Dispatch(within, "p", "go", nil, nil)
	_, _, _, unknown := (*Root)(nil).Enter(t.Context(), strings.Repeat("x", 999))
	for _, err := range []error{entered, removed, installed, called, unknown} {
		wantReason(t, err, Ended, "has ended")
	}
	if len(unknown.Error()) > 200 {
		t.Errorf("it repeats whatever it is given: %v", unknown)
	}
}

// A caller gets at most a part of the places, and the error of a call that waits too long names the cause.
func TestTurnsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var own *turn
		for range maxOfOne {
			own = turns.must(t, Origin{Caller: "loud"}, "p")
		}
		turns.must(t, Origin{Caller: "quiet"}, "p")
		_, err := turns.take(From(t.Context(), Origin{Caller: "loud"}), "p", "go", false, time.Minute)
		wantReason(t, err, Busy, "8 calls of the same caller run")
		waited := make(chan error, 1)
		go func() {
			_, err := turns.take(From(t.Context(), Origin{Caller: "loud"}), "p", "go", false, time.Minute)
			waited <- err
		}()
		synctest.Wait()
		turns.end(own)
		if err := <-waited; err != nil {
			t.Error(err)
		}
		for i := range maxCalls - maxOfOne - 1 {
			turns.must(t, Origin{Caller: string(rune('a' + i/maxOfOne))}, "p")
		}
		_, err = turns.take(From(t.Context(), Origin{Caller: "another"}), "p", "go", false, time.Minute)
		wantReason(t, err, Busy, "32 calls run")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turns.take(ctx, "p", "go", false, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("one that left: %v", err)
		}
	})
}

// A plugin is replaced and removed between its calls: running calls end first, and new ones wait.
func TestRemoveWaitsForCalls(t *testing.T) {
	r := open(t, map[string]string{"p/bin/go*": script("cat go; echo on"), "p/go": "first "})
	p := r.must(t, "p")
	inside, leave := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		answer, err := p.Dispatch(t.Context(), "p", "go", nil, func(context.Context) (string, func(), error) {
			close(inside)
			<-leave
			return "", func() {}, nil
		})
		if err != nil || answer.Message != "first on\n" {
			t.Errorf("the call that ran: %q, %v", answer.Message, err)
		}
	})
	<-inside
	removed := make(chan error, 1)
	wait.Go(func() { _, err := r.Remove(t.Context(), "p"); removed <- err })
	for changing := false; !changing; runtime.Gosched() {
		r.turns.mu.Lock()
		changing = r.turns.changing["p"]
		r.turns.mu.Unlock()
	}
	wait.Go(func() {
		_, err := p.Dispatch(t.Context(), "p", "go", nil, nil)
		wantReason(t, err, NotFound, "removed while")
	})
	select {
	case err := <-removed:
		t.Fatalf("it was removed while a call ran: %v", err)
	default:
	}
	close(leave)
	if err := <-removed; err != nil {
		t.Error(err)
	}
	wait.Wait()
}

// What would wait for itself is refused: a plugin that replaces itself, and a hook that installs.
func TestChangesFromWithin(t *testing.T) {
	r := open(t, map[string]string{"p/bin/go*": script("")})
	now := r.turns.must(t, Origin{}, "p")
	within := From(t.Context(), Origin{Within: now.id})
	_, err := r.Remove(within, "p")
	wantReason(t, err, Busy, "runs this very call")
	_, err = r.Install(within, Request{Source: lay(t, t.TempDir(), simple("p", "1"))})
	wantReason(t, err, Busy, "runs this very call")
	if _, err := r.Install(within, Request{Source: lay(t, t.TempDir(), simple("q", "1"))}); err != nil {
		t.Errorf("another one may be installed: %v", err)
	}
	hook := r.turns.hook("q", hookInstall, "id")
	_, err = r.Install(From(t.Context(), Origin{Within: hook.id}), Request{Source: lay(t, t.TempDir(), simple("o", "1"))})
	wantReason(t, err, Busy, "a hook can't install")
	r.turns.end(hook)
	left(t, r)
}

// Two concurrent installations run one after the other; one whose caller leaves stops waiting.
func TestInstallationsAtOnce(t *testing.T) {
	r := open(t, nil)
	var wait sync.WaitGroup
	for _, version := range []string{"1", "2", "3", "4"} {
		wait.Go(func() {
			if _, err := r.Install(t.Context(),
				Request{Source: lay(t, t.TempDir(), simple("p", version, "install", script("cp plugin.yml hooked")))}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	p := r.must(t, "p")
	hooked, _ := os.ReadFile(filepath.Join(p.Dir, "hooked"))
	if !strings.Contains(string(hooked), "version: "+p.Version) || p.Installed.Pending != "" {
		t.Errorf("version %s has the hook of %q", p.Version, hooked)
	}
	left(t, r)
	r.installing <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Install(ctx, Request{Source: p.Dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("one that left: %v", err)
	}
}
