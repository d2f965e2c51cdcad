package reconciler

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequeueHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{Workers: 1}, func(_ context.Context, key Key) (Result, error) {
			if key == web {
				return Result{After: 5 * time.Minute}, nil
			}
			return Result{}, nil
		})
		l.Enqueue(web)
		synctest.Wait()
		waiting := l.Snapshot().Waiting
		if len(waiting) != 1 || time.Until(waiting[0].Next).Round(time.Second) != 5*time.Minute {
			t.Errorf("waiting %+v, want the key in 5 minutes", waiting)
		}
		l.Enqueue(api)
		synctest.Wait()
		l.wantCount(t, api, 1, "the only worker is free while another key waits")
		l.pass(5*time.Minute - time.Second)
		l.wantCount(t, web, 1, "not due")
		l.pass(time.Second)
		l.wantCount(t, web, 2, "due")
		l.stop(t)
	})
}

func TestNewestResultReplacesAPendingWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
			if calls.Add(1) == 1 {
				return Result{After: time.Minute}, nil
			}
			return Result{}, nil
		})
		l.Enqueue(web)
		synctest.Wait()
		l.Enqueue(web)
		l.pass(time.Hour)
		l.wantCount(t, web, 2, "the second reconcile found nothing to wait for")
		l.stop(t)
	})
}

// A wait that is longer than queue time lasts ends with it, not at once.
func TestTheLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
			if calls.Add(1) >= 5 {
				return Result{}, nil // it would go round for ever
			}
			return Result{After: math.MaxInt64}, nil
		})
		l.pass(time.Hour)
		l.Enqueue(web)
		l.pass(24 * time.Hour)
		l.wantCount(t, web, 1, "it is due in 292 years")
		l.stop(t)
	})
}

func TestTimersAreNoLongerThanAMinute(t *testing.T) {
	tests := map[string]struct {
		reason string
		jump   time.Duration
		within time.Duration
		want   int
	}{
		"Still": {"no jump, not due", 0, 2 * time.Minute, 1},
		"Ahead": {"the machine slept for an hour: noticed within a minute", time.Hour, time.Minute, 2},
		"Short": {"a jump that doesn't reach the time", 2 * time.Minute, 2 * time.Minute, 1},
		"Adds":  {"a jump shortens the rest of the wait", 3 * time.Minute, 3 * time.Minute, 2},
		"Back":  {"a clock set back does not make the key wait longer", -24 * time.Hour, 5 * time.Minute, 2},
		"Slewed": {"clock discipline isn't a jump", 900 * time.Millisecond,
			4*time.Minute + 59*time.Second + 500*time.Millisecond, 1},
		"BackOnly": {"nor shorter", -24 * time.Hour, 4*time.Minute + 59*time.Second, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
					return Result{After: 5 * time.Minute}, nil
				})
				var jumped atomic.Int64
				read := l.clock.read
				l.mu.Lock()
				l.clock.read = func() (wall, mono time.Duration) {
					wall, mono = read()
					return wall + time.Duration(jumped.Load()), mono
				}
				l.mu.Unlock()
				l.Enqueue(web)
				synctest.Wait()
				jumped.Store(int64(test.jump))
				l.pass(test.within)
				l.wantCount(t, web, test.want, test.reason)
				l.stop(t)
			})
		})
	}
}

func TestClockNeverGoesBack(t *testing.T) {
	var wall, mono time.Duration
	c := newClockFrom(func() (time.Duration, time.Duration) { return wall, mono })
	steps := []struct {
		reason     string
		wall, mono time.Duration
		want       time.Duration
	}{
		{"both run", 10 * time.Second, 10 * time.Second, 10 * time.Second},
		{"suspended for a minute", 80 * time.Second, 20 * time.Second, 80 * time.Second},
		{"set back an hour", -3510 * time.Second, 30 * time.Second, 90 * time.Second},
		{"set right again: an hour ahead", 100 * time.Second, 40 * time.Second, 100*time.Second + time.Hour},
	}
	for _, step := range steps {
		wall, mono = step.wall, step.mono
		if got := c.now(); got != step.want {
			t.Errorf("%s: queue time %v, want %v", step.reason, got, step.want)
		}
	}
}
