package calls

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
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
		var mu sync.Mutex // calls that end at once wake their keys at once
		go func() {
			_ = c.Run(ctx, func(keys ...reconciler.Key) {
				mu.Lock()
				defer mu.Unlock()
				woken = append(woken, keys...)
			})
		}()
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
			c.Begin(Work{
				Key: key, Name: "a", Host: "example.org", Limit: time.Minute,
				Do:     func(context.Context, func(any)) any { panic("no answer") },
				Failed: func(err error) any { return err.Error() },
			})
			synctest.Wait()
			answer := c.Of(key).Answers["a"]
			if answer.Value != "panic in internal/control/calls.TestACallThatPanicsHasAnAnswer: no answer" {
				t.Errorf("answered %q", answer.Value)
			}
			c.Forget(key, "a", answer)
		}
		if len(*woken) != 2*MaxPerHost || len(c.keys) > 0 || len(c.hosts) > 0 {
			t.Errorf("%d keys were woken, want %d; left are %v and %v", len(*woken), 2*MaxPerHost, c.keys, c.hosts)
		}
	})
}

// TestACallThatLasts: it goes on without a limit, also after a panic, until it is cancelled.
func TestACallThatLasts(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Calls, woken *[]reconciler.Key) {
		begun := 0
		last := func() {
			c.Begin(Work{Key: key, Name: "a", Do: func(ctx context.Context, say func(any)) any {
				if begun++; begun == 1 {
					panic("at first")
				}
				say("begun")
				<-ctx.Done()
				return "ended"
			}})
			synctest.Wait()
		}
		last()
		time.Sleep(time.Hour)
		last()
		answer := c.Of(key).Answers["a"]
		if begun != 2 || answer.Value != "begun" {
			t.Errorf("it began %d times, and said was %v", begun, answer)
		}
		c.Forget(key, "a", answer)
		c.Cancel(key, "a")
		synctest.Wait()
		if state := c.Of(key); len(state.Going)+len(state.Answers) > 0 ||
			!slices.Equal(*woken, []reconciler.Key{key, key}) {
			t.Errorf("after the end it has %+v, and woken are %v", state, *woken)
		}
		if last(); begun != 3 {
			t.Errorf("it began %d times", begun)
		}
	})
}

// TestOnlyCallsToAHostShareIt: any number of calls to no host goes on at once.
func TestOnlyCallsToAHostShareIt(t *testing.T) {
	for host, want := range map[string]int{"example.org": MaxPerHost, "": 2 * MaxPerHost} {
		inBubble(t, func(t *testing.T, c *Calls, _ *[]reconciler.Key) {
			begun, end := 0, make(chan struct{})
			for i := range 2 * MaxPerHost {
				if c.Begin(Work{
					Key: reconciler.Key{Kind: "autoscale", Name: strconv.Itoa(i)}, Name: "a", Host: host, Limit: time.Hour,
					Do: func(context.Context, func(any)) any { <-end; return nil },
				}) {
					begun++
				}
			}
			close(end)
			if synctest.Wait(); begun != want || len(c.hosts) > 0 {
				t.Errorf("%d calls to %q began, want %d; left are %v", begun, host, want, c.hosts)
			}
		})
	}
}

// TestAnAnswerThatIsNotSeenIsKept: what a call says after the step has observed it is for the next step.
func TestAnAnswerThatIsNotSeenIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Calls, _ *[]reconciler.Key) {
		next := make(chan struct{})
		c.Begin(Work{Key: key, Name: "a", Do: func(ctx context.Context, say func(any)) any {
			say("first")
			<-next
			say("second")
			<-ctx.Done()
			return nil
		}})
		synctest.Wait()
		seen := c.Of(key).Answers["a"]
		close(next)
		synctest.Wait()
		c.Forget(key, "a", seen)
		if left := c.Of(key).Answers["a"]; seen.Value != "first" || left.Value != "second" {
			t.Errorf("seen was %v, and left is %v", seen.Value, left.Value)
		}
	})
}
