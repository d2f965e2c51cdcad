package reconciler

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func always(err error) Func {
	return func(context.Context, Key) (Result, error) { return Result{}, err }
}

func TestRetryBacksOffThenRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{}, always(errFlaky))
		l.Enqueue(web)
		l.pass(time.Hour)
		times := l.times(web)
		if len(times) != 7 {
			t.Fatalf("tried at %v, want the first try and 6 more", times)
		}
		for i, want := range []float64{1, 2, 4, 8, 16, 30} {
			if got := (times[i+1] - times[i]).Seconds(); got < want*0.9 || got > want*1.1 {
				t.Errorf("wait %d was %.2f s, want %g s give or take 10 %%", i+1, got, want)
			}
		}
		if got := l.Snapshot().Resting; len(got) != 1 || got[0].Err != errFlaky || !got[0].Next.IsZero() {
			t.Errorf("resting %+v, want the key with its last error", got)
		}
		l.Enqueue(web)
		l.pass(time.Hour)
		l.wantCount(t, web, 14, "an event gives a resting key all its tries again")
		l.stop(t)
	})
}

func TestRetriesAreJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{}, always(errFlaky))
		l.Enqueue(keys(20)...)
		l.pass(1500 * time.Millisecond)
		at := map[time.Duration]bool{}
		for _, key := range keys(20) {
			at[l.times(key)[1]] = true
		}
		if len(at) < 15 {
			t.Errorf("20 keys that failed together were retried at only %d different times", len(at))
		}
		l.stop(t)
	})
}

func TestSuccessClearsTheFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
			if n := tries.Add(1); n == 3 {
				return Result{}, nil
			}
			return Result{}, errFlaky
		})
		l.Enqueue(web)
		l.pass(5 * time.Second)
		l.wantCount(t, web, 3, "two retries, the second went well")
		l.Enqueue(web)
		synctest.Wait()
		if got := l.Snapshot().Retrying; len(got) != 1 || got[0].Failures != 1 {
			t.Errorf("retrying %+v, want 1 failure after the success", got)
		}
		l.stop(t)
	})
}

// TestUnfinishedKeepsTheFailures: a reconcile that only begins what fails later, outside of it, backs off like one that
// fails itself.
func TestUnfinishedKeepsTheFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *harness
		var ended atomic.Bool // what it began has failed
		l = newHarness(t, Options{}, func(_ context.Context, key Key) (Result, error) {
			if ended.Swap(false) {
				return Result{}, errFlaky
			}
			time.AfterFunc(time.Millisecond, func() { ended.Store(true); l.Enqueue(key) })
			return Result{Unfinished: true}, nil
		})
		l.Enqueue(web)
		l.pass(40 * time.Second)
		// Two reconciles for each of the attempts at 0, 1, 3, 7, 15 and 31 s.
		l.wantCount(t, web, 12, "the backoff grows over attempts that each began without a failure")
		l.stop(t)
	})
}

func TestEventDuringBackoffReconcilesAtOnceAndKeepsTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{}, always(errFlaky))
		l.Enqueue(web)
		l.pass(4 * time.Second) // tries at 0, 1, 3; the next at 7
		l.wantCount(t, web, 3, "two retries")
		l.Enqueue(web)
		synctest.Wait()
		l.wantCount(t, web, 4, "the event may be the fix: reconcile at once")
		if got := l.Snapshot().Retrying; len(got) != 1 || got[0].Failures != 4 {
			t.Errorf("retrying %+v, want 4 failures: the event did not reset them", got)
		}
		l.pass(time.Hour)
		l.wantCount(t, web, 7, "the key rests after as many tries as without the event")
		l.stop(t)
	})
}

func TestEventsOfAFailingKeyDoNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *harness
		l = newHarness(t, Options{}, func(_ context.Context, key Key) (Result, error) {
			l.Enqueue(key) // a reconcile whose own write comes back as an event
			return Result{}, errFlaky
		})
		l.Enqueue(web)
		l.pass(10 * time.Second)
		if got := l.count(web); got < 8 || got > 12 {
			t.Errorf("reconciled %d times in 10 s, want about one a second: %v", got, l.times(web))
		}
		l.stop(t)
	})
}

func TestTerminalIsNotRetriedUntilAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Replay: listing(web), Dirty: func(time.Time) []Key { return []Key{web} }, FullResync: time.Hour}
		l := newHarness(t, o, always(Terminal(errFlaky)))
		l.pass(5 * time.Minute)
		l.wantCount(t, web, 1, "neither a retry nor the resync reconciles it")
		if got := l.Snapshot().Resting; len(got) != 1 || !got[0].Terminal || got[0].Err.Error() != errFlaky.Error() {
			t.Errorf("resting %+v, want the key, terminal, with its error", got)
		}
		l.Enqueue(web)
		synctest.Wait()
		l.wantCount(t, web, 2, "an event wakes it")
		l.pass(time.Hour)
		if l.count(web) < 3 {
			t.Error("the full resync did not wake it")
		}
		l.stop(t)
	})
}

func TestFixDuringBackoffWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fixed atomic.Bool
		l := newHarness(t, Options{}, func(context.Context, Key) (Result, error) {
			if fixed.Load() {
				return Result{}, nil
			}
			return Result{}, errFlaky
		})
		l.Enqueue(web)
		l.pass(8 * time.Second)
		fixed.Store(true)
		l.Enqueue(web)
		l.pass(time.Hour)
		l.wantCount(t, web, 5, "four failed tries, then one that went well and took the pending retry back")
		if got := len(l.records); got != 0 {
			t.Errorf("%d records are kept of idle keys", got)
		}
		l.stop(t)
	})
}
