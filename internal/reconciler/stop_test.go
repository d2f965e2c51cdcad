package reconciler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopLetsReconcilesFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen error
		l := newHarness(t, Options{Workers: 1}, func(ctx context.Context, _ Key) (Result, error) {
			<-time.After(9 * time.Second)
			seen = ctx.Err()
			return Result{}, nil
		})
		l.Enqueue(web, api)
		synctest.Wait()
		begun := time.Now()
		l.stop(t)
		if took := time.Since(begun); took != 9*time.Second {
			t.Errorf("stopped after %v, want the 9 s the reconcile takes", took)
		}
		if seen != nil {
			t.Errorf("the reconcile's context had ended: %v", seen)
		}
		l.wantCount(t, api, 0, "a queued key isn't begun after the stop")
		l.Enqueue(api)
		l.pass(time.Minute)
		l.wantCount(t, api, 0, "a stopped controller takes no keys")
	})
}

func TestStopCutsAtTheDrainTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		l := newHarness(t, Options{DrainTime: 3 * time.Second}, func(ctx context.Context, _ Key) (Result, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return Result{}, ctx.Err()
		})
		l.Enqueue(web)
		synctest.Wait()
		begun := time.Now()
		l.stop(t)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("stopped after %v, want the drain time of 3 s", took)
		}
		if cause != ErrStopping {
			t.Errorf("the reconcile was cut by %v, want %v", cause, ErrStopping)
		}
	})
}

func TestStopNamesWhatIgnoresItsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
			<-gate
			return Result{}, nil
		})
		l.Enqueue(web)
		synctest.Wait()
		begun := time.Now()
		l.cancel()
		err := <-l.ended
		var stuck *StuckError
		if !errors.As(err, &stuck) || len(stuck.Keys) != 1 || stuck.Keys[0] != web {
			t.Errorf("Run: %v, want a StuckError naming %v", err, web)
		}
		if took := time.Since(begun); took != 10*time.Second+cutGrace {
			t.Errorf("gave up after %v, want the drain time and %v", took, cutGrace)
		}
		close(gate)
		synctest.Wait()
	})
}

func TestStopBeforeSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{Synced: make(chan struct{}), Replay: listing(web)}, nil)
		l.stop(t)
		l.wantCount(t, web, 0, "the view never was complete")
	})
}
