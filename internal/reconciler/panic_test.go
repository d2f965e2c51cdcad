package reconciler

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAPassThatPanicsHidesNothing: then every key is reconciled, and the next pass is made in its time.
func TestAPassThatPanicsHidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := hear(t)
		passes := 0
		dirty := func(time.Time) []Key {
			if passes++; passes == 2 {
				panic("bad object")
			}
			return nil
		}
		l := newHarness(t, Options{Dirty: dirty, Replay: listing(web, api), FullResync: time.Hour}, nil)
		l.pass(35 * time.Second)
		l.wantCount(t, web, 2, "the replay and the pass that panicked")
		l.wantCount(t, api, 2, "the replay and the pass that panicked")
		if passes != 3 {
			t.Errorf("%d passes in 35 s, want 3", passes)
		}
		if text := log.String(); !strings.Contains(text, "bad object") || !strings.Contains(text, "controller=deployment") {
			t.Errorf("the log says\n%s", text)
		}
		l.stop(t)
	})
}

// TestAReplayThatPanicsEndsNothing: keys come by events, and by the next full pass.
func TestAReplayThatPanicsEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hear(t)
		replays := 0
		replay := func() []Key {
			if replays++; replays < 3 { // the replay, and the first round of the full pass
				panic("bad object")
			}
			return []Key{web, api}
		}
		l := newHarness(t, Options{Replay: replay, FullResync: time.Minute}, nil)
		if !l.isReady() {
			t.Error("a controller that has no keys to try is ready")
		}
		l.Enqueue(web)
		synctest.Wait()
		l.wantCount(t, web, 1, "an event")
		l.pass(3 * time.Minute)
		if l.count(api) == 0 {
			t.Error("the full pass never came back")
		}
		l.stop(t)
	})
}

// TestALoopThatPanicsRunsAgain: what waits for the view is released by a later call.
func TestALoopThatPanicsRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hear(t)
		waits := 0
		var revision atomic.Int64
		o := Options{
			Revision: revision.Load,
			WaitFor: func(context.Context, int64) error {
				if waits++; waits == 1 {
					panic("no view")
				}
				revision.Store(5)
				return nil
			},
		}
		first := true
		l := newHarness(t, o, func(context.Context, Key) (Result, error) {
			if first {
				first = false
				return Result{Revision: 5}, nil
			}
			return Result{}, nil
		})
		l.Enqueue(web)
		synctest.Wait()
		l.Enqueue(web)
		l.pass(time.Minute)
		l.wantCount(t, web, 2, "the second event waits for the view, which is asked again")
		l.stop(t)
	})
}

// TestAMemberThatPanicsRunsAgain: the members beside it go on.
func TestAMemberThatPanicsRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hear(t)
		var runs, beside atomic.Int32
		broken := NewMember(func(ctx context.Context) error {
			if runs.Add(1) < 3 {
				panic("broken")
			}
			<-ctx.Done()
			return nil
		})
		sound := NewMember(func(ctx context.Context) error { beside.Add(1); <-ctx.Done(); return nil })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- NewGroup(GroupOptions{}, sound, broken).Run(ctx) }()
		time.Sleep(time.Minute)
		if runs.Load() != 3 || beside.Load() != 1 {
			t.Errorf("the broken member ran %d times and the other %d times, want 3 and 1", runs.Load(), beside.Load())
		}
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
