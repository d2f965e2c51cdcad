package reconciler

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/store"
)

var errUnanswered = fmt.Errorf("commit deployment.create: %w", store.ErrUnknownOutcome)

func TestUnknownOutcomeWaitsForAFreshRevision(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		err    error
	}{
		"unknown": {"the commit may be applied later", errUnanswered},
		"cut":     {"a cut reconcile may have committed", nil},
		"joined":  {"more than one commit failed", errors.Join(store.ErrConflict, errUnanswered)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &pretendView{revision: 5}
				answers := make(chan int64)
				var asked atomic.Int64
				settle := func(ctx context.Context) (int64, error) {
					asked.Add(1)
					select {
					case revision := <-answers:
						return revision, nil
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				}
				var tries atomic.Int64
				l := newHarness(t, Options{Revision: v.Revision, WaitFor: v.WaitFor, Settle: settle, Deadline: time.Minute},
					func(ctx context.Context, _ Key) (Result, error) {
						if tries.Add(1) > 1 {
							return Result{}, nil
						}
						if test.err == nil {
							<-ctx.Done()
						}
						return Result{}, test.err
					})
				l.Enqueue(web)
				l.pass(2 * time.Minute)
				l.Enqueue(web)
				l.pass(time.Hour)
				l.wantCount(t, web, 1, test.reason+": the store hasn't answered, neither a retry nor an event reconciles the key")
				answers <- 9
				l.pass(time.Minute)
				l.wantCount(t, web, 1, test.reason+": the store is at 9, the view isn't")
				v.move(9)
				synctest.Wait()
				l.wantCount(t, web, 2, test.reason+": the view has what the store had")
				if got := asked.Load(); got != 1 {
					t.Errorf("asked %d times, want once", got)
				}
				l.stop(t)
			})
		})
	}
}

// Keys with a known outcome continue meanwhile, including those that wait for the view.
func TestUnknownOutcomeDelaysNoOtherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &pretendView{revision: 5}
		settle := func(ctx context.Context) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		l := newHarness(t, Options{Workers: 1, Revision: v.Revision, WaitFor: v.WaitFor, Settle: settle},
			func(_ context.Context, key Key) (Result, error) {
				if key == web {
					return Result{}, errUnanswered
				}
				return Result{Revision: 6}, nil
			})
		l.Enqueue(web)
		l.pass(time.Minute)
		l.Enqueue(api)
		synctest.Wait()
		l.Enqueue(api)
		v.move(6)
		l.pass(time.Minute)
		l.wantCount(t, web, 1, "its outcome is unknown")
		l.wantCount(t, api, 2, "its own commit is in the view")
		l.stop(t)
	})
}

func TestUnknownOutcomeIsAskedForUntilAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &pretendView{revision: 5}
		var asked, tries atomic.Int64
		settle := func(context.Context) (int64, error) {
			if asked.Add(1) < 4 {
				return 0, errFlaky
			}
			return 5, nil
		}
		l := newHarness(t, Options{Revision: v.Revision, WaitFor: v.WaitFor, Settle: settle},
			func(context.Context, Key) (Result, error) {
				if tries.Add(1) == 1 {
					return Result{}, errUnanswered
				}
				return Result{}, nil
			})
		l.Enqueue(web)
		l.pass(2500 * time.Millisecond)
		l.wantCount(t, web, 1, "the store has not answered yet")
		l.pass(time.Second)
		l.wantCount(t, web, 2, "the fourth try was answered")
		l.stop(t)
	})
}
