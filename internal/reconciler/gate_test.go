package reconciler

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pretendView is a view whose revision the test sets.
type pretendView struct {
	mu       sync.Mutex
	revision int64
	moved    chan struct{}
	err      error
}

func (v *pretendView) Revision() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.revision
}

func (v *pretendView) move(to int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.revision = to
	if v.moved != nil {
		close(v.moved)
	}
	v.moved = nil
}

func (v *pretendView) WaitFor(ctx context.Context, revision int64) error {
	for {
		v.mu.Lock()
		if v.err != nil || v.revision >= revision {
			defer v.mu.Unlock()
			return v.err
		}
		if v.moved == nil {
			v.moved = make(chan struct{})
		}
		moved := v.moved
		v.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

func (v *pretendView) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = err
}

func TestFreshnessWaitsForOwnWritesWithoutAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &pretendView{revision: 5}
		commits := map[Key]int64{web: 9, api: 7}
		l := newHarness(t, Options{Workers: 1, Revision: v.Revision, WaitFor: v.WaitFor},
			func(_ context.Context, key Key) (Result, error) { return Result{Revision: commits[key]}, nil })
		l.Enqueue(web)
		synctest.Wait()
		l.Enqueue(web)
		l.pass(time.Minute)
		l.wantCount(t, web, 1, "the view lacks what the key committed")
		if got := l.Snapshot().Behind; len(got) != 1 || got[0].Revision != 9 {
			t.Errorf("behind %+v, want the key at revision 9", got)
		}
		l.Enqueue(api)
		synctest.Wait()
		l.Enqueue(api)
		l.pass(time.Minute)
		l.wantCount(t, api, 1, "the only worker was free, and the key is behind now too")

		v.move(7)
		synctest.Wait()
		l.wantCount(t, api, 2, "the view has revision 7: the lower wait took over from the higher")
		l.wantCount(t, web, 1, "but not 9")
		v.move(9)
		synctest.Wait()
		l.wantCount(t, web, 2, "the view has it")
		l.stop(t)
	})
}

func TestFreshnessHoldsForFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &pretendView{revision: 5}
		l := newHarness(t, Options{Revision: v.Revision, WaitFor: v.WaitFor},
			func(context.Context, Key) (Result, error) { return Result{Revision: 6}, errFlaky })
		l.Enqueue(web)
		l.pass(time.Minute)
		l.wantCount(t, web, 1, "it failed after a commit that the view lacks")
		v.move(6)
		synctest.Wait()
		l.wantCount(t, web, 2, "the retry was due long ago")
		l.stop(t)
	})
}

func TestFreshnessSurvivesAViewThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &pretendView{revision: 5, err: errors.New("view lost its watch")}
		l := newHarness(t, Options{Revision: v.Revision, WaitFor: v.WaitFor},
			func(context.Context, Key) (Result, error) { return Result{Revision: 6}, nil })
		l.Enqueue(web)
		synctest.Wait()
		l.Enqueue(web)
		l.pass(10 * time.Second)
		l.wantCount(t, web, 1, "the view says nothing")
		v.fail(nil)
		v.move(6)
		l.pass(parkRetry)
		l.wantCount(t, web, 2, "the view is back")
		l.stop(t)
	})
}

func TestIdleKeysAreForgottenOnceTheViewHasThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &pretendView{revision: 5}
		o := Options{Revision: v.Revision, WaitFor: v.WaitFor, Replay: listing(), FullResync: time.Minute}
		l := newHarness(t, o, func(context.Context, Key) (Result, error) { return Result{Revision: 6}, nil })
		l.Enqueue(web)
		synctest.Wait()
		if got := len(l.records); got != 1 {
			t.Errorf("%d records, want the key whose commit the view lacks", got)
		}
		v.move(6)
		l.pass(2 * time.Minute)
		if got := len(l.records); got != 0 {
			t.Errorf("%d records are kept of idle keys", got)
		}
		l.stop(t)
	})
}
