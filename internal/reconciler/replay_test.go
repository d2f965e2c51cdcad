package reconciler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestReplayReconcilesEveryKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		synced := make(chan struct{})
		all := keys(20)
		l := newHarness(t, Options{Synced: synced, Replay: listing(all...)}, nil)
		l.Enqueue(all[0], all[0], web)
		l.pass(time.Hour)
		for _, key := range append(all, web) {
			l.wantCount(t, key, 0, "the view isn't synced")
		}
		if l.isReady() {
			t.Error("ready before the view is synced")
		}
		close(synced)
		synctest.Wait()
		for _, key := range append(all, web) {
			l.wantCount(t, key, 1, "replayed once, however often it was enqueued before")
		}
		if !l.isReady() {
			t.Error("not ready though every key was tried")
		}
		l.stop(t)
	})
}

func TestReadyWaitsForTheFirstTryOnly(t *testing.T) {
	tests := map[string]struct {
		reason string
		then   Func
		ready  bool
	}{
		"Done": {"a finished key was tried", func(context.Context, Key) (Result, error) { return Result{}, nil }, true},
		"Failed": {"a failed key was tried",
			func(context.Context, Key) (Result, error) { return Result{}, errFlaky }, true},
		"Terminal": {"a resting key was tried",
			func(context.Context, Key) (Result, error) { return Result{}, Terminal(errFlaky) }, true},
		"Waiting": {"a waiting key was tried",
			func(context.Context, Key) (Result, error) { return Result{After: time.Hour}, nil }, true},
		"Running": {"a key under way is not tried yet", func(ctx context.Context, _ Key) (Result, error) {
			<-ctx.Done()
			return Result{}, ctx.Err()
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t, Options{Replay: listing(web, api)}, test.then)
				if got := l.isReady(); got != test.ready {
					t.Errorf("%s: ready = %v, want %v", test.reason, got, test.ready)
				}
				l.stop(t)
			})
		})
	}
}

func TestReadyWithNothingToReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{}, nil)
		if !l.isReady() {
			t.Error("not ready though there is nothing to try")
		}
		l.stop(t)
	})
}

func TestRunIsForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{}, nil)
		if err := l.Run(t.Context()); err != ErrRunning {
			t.Errorf("second Run: %v, want %v", err, ErrRunning)
		}
		l.stop(t)
	})
}
