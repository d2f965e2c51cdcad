package calls

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/reconciler"
)

// inBubble runs a test with calls that may be made. woken holds the keys that were reconciled.
func inBubble(t *testing.T, test func(t *testing.T, c *Calls, woken *[]reconciler.Key)) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	synctest.Test(t, func(t *testing.T) {
		c := New()
		ctx, cancel := context.WithCancel(t.Context())
		var woken []reconciler.Key
		go func() { _ = c.Run(ctx, func(keys ...reconciler.Key) { woken = append(woken, keys...) }) }()
		synctest.Wait()
		test(t, c, &woken)
		cancel()
		synctest.Wait()
	})
}

var key = reconciler.Key{Kind: "delivery", Name: "d"}

// TestACallThatPanicsHasAnAnswer: its key is reconciled with it, and its host has its share again.
func TestACallThatPanicsHasAnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Calls, woken *[]reconciler.Key) {
		for range 2 * MaxPerHost {
			c.Begin(Call{
				Key: key, Name: "a", Host: "example.org", Limit: time.Minute,
				Do:     func(context.Context, func(any)) any { panic("no answer") },
				Failed: func(err error) any { return err.Error() },
			})
			synctest.Wait()
			answer := c.Of(key).Answers["a"]
			if answer != "panic in internal/control/calls.TestACallThatPanicsHasAnAnswer: no answer" {
				t.Errorf("answered %q", answer)
			}
			c.Forget(key, "a")
		}
		if len(*woken) != 2*MaxPerHost || len(c.keys) > 0 || len(c.hosts) > 0 {
			t.Errorf("%d keys were woken, want %d; left are %v and %v", len(*woken), 2*MaxPerHost, c.keys, c.hosts)
		}
	})
}

// TestACallThatLasts: it goes on without a limit, also after a panic, until it is cancelled. Only then does the next
// one begin.
func TestACallThatLasts(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Calls, woken *[]reconciler.Key) {
		begun := map[string]int{}
		last := func(name string) {
			c.Begin(Call{Key: key, Name: name, Do: func(ctx context.Context, say func(any)) any {
				if begun[name]++; begun[name] == 1 && name == "a" {
					panic("at first")
				}
				say("begun")
				<-ctx.Done()
				return "ended"
			}})
			synctest.Wait()
		}
		last("a")
		time.Sleep(time.Hour)
		last("a")
		last("b")
		if answers := c.Of(key).Answers; !maps.Equal(begun, map[string]int{"a": 2}) || answers["a"] != "begun" {
			t.Errorf("begun are %v, and said was %v", begun, answers)
		}
		c.Forget(key, "a")
		c.Cancel(key, "a")
		synctest.Wait()
		if state := c.Of(key); len(state.Going)+len(state.Answers) > 0 ||
			!slices.Equal(*woken, []reconciler.Key{key, key}) {
			t.Errorf("after the end it has %+v, and woken are %v", state, *woken)
		}
		if last("b"); begun["b"] != 1 {
			t.Errorf("begun are %v", begun)
		}
	})
}
