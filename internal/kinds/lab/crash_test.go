package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

var errKilled = errors.New("killed")

// TestACrashBetweenAnyTwoSteps: the controllers are killed at each of their commits in turn, before or after it is
// applied, and start again. The lab lives as if nothing had happened, with one container.
func TestACrashBetweenAnyTwoSteps(t *testing.T) {
	for _, applied := range []bool{false, true} {
		for at := int64(1); ; at++ {
			hit := false
			t.Run(fmt.Sprintf("commit %d, applied %v", at, applied), func(t *testing.T) {
				inHarness(t, func(l *harness) { hit = l.liveWithCrash(at, applied) })
			})
			if t.Failed() {
				return
			}
			if !hit {
				if at < 6 {
					t.Errorf("a lab's life has only %d commits: this shows nothing", at-1)
				}
				break
			}
		}
	}
}

func (l *harness) liveWithCrash(at int64, applied bool) (hit bool) {
	var commits atomic.Int64
	killed := make(chan struct{})
	l.trouble = func(string) (before, after error) {
		switch n := commits.Add(1); {
		case n < at || hit:
			return nil, nil
		case n == at:
			close(killed)
		}
		if applied && commits.Load() == at {
			return nil, errKilled
		}
		return errKilled, nil
	}
	restart := func() {
		select {
		case <-killed:
		default:
			return
		}
		if !hit {
			l.Stop()
			hit = true
			l.Serve()
		}
	}
	l.Put(labOf(time.Hour, time.Hour), linux)
	for range 3 * 60 {
		l.Pass(time.Minute)
		restart()
	}
	l.seen(linux, api.LabPending, api.LabProvisioning, api.LabRunning, api.LabTimeout)
	l.nothingLeft(linux)
	l.Delete(linux)
	l.Pass(time.Minute)
	restart()
	l.Pass(time.Minute)
	if l.Snapshot().Object(linux).Exists() {
		l.Error("it is not gone")
	}
	if l.Node.Made(linux) != 1 {
		l.Errorf("%d containers were made", l.Node.Made(linux))
	}
	return hit
}

// TestAnUnknownOutcome: a commit whose answer is lost is not repeated from the old observation.
func TestAnUnknownOutcome(t *testing.T) {
	inHarness(t, func(l *harness) {
		var commits atomic.Int64
		l.trouble = func(string) (before, after error) {
			if commits.Add(1)%2 == 1 {
				return nil, store.ErrUnknownOutcome
			}
			return nil, nil
		}
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(3 * time.Hour)
		l.seen(linux, api.LabPending, api.LabProvisioning, api.LabRunning, api.LabTimeout)
		l.nothingLeft(linux)
		if l.Node.Made(linux) != 1 {
			t.Errorf("%d containers were made", l.Node.Made(linux))
		}
	})
}

// TestReconcilesThatRaceMakeOneContainer: many reconciles of a due lab at once, of two servers and of the pass over all
// labs, which all have seen it PENDING and due.
func TestReconcilesThatRaceMakeOneContainer(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Stop()
		l.Put(labOf(0, time.Hour), linux)
		deps := l.Deps()
		first := controller(deps, Options{Liveness: owner.NewLiveness(0, 0, nil)})
		reconcile := func(c *control.Shell) {
			_, _ = c.Reconcile(context.Background(), reconciler.Key{Kind: "lab", Scope: linux.Scope, Name: linux.Name})
			synctest.Wait()
		}
		reconcile(first) // PENDING, and its image is asked for
		l.Pass(time.Second)
		frozen := l.Snapshot()
		deps.Snapshot = func() records.Snapshot { return frozen }
		var racing sync.WaitGroup
		for range 20 {
			racer := controller(deps, Options{Liveness: owner.NewLiveness(0, 0, nil)})
			if len(racer.Dirty(time.Now())) != 1 {
				t.Error("the pass doesn't find it")
			}
			racing.Go(func() {
				_, _ = racer.Reconcile(context.Background(),
					reconciler.Key{Kind: "lab", Scope: linux.Scope, Name: linux.Name})
			})
		}
		racing.Wait()
		l.Pass(time.Second)
		if tasks := l.Snapshot().TasksOf(linux); len(tasks) != 1 {
			t.Errorf("%d tasks", len(tasks))
		}
		l.Serve()
		l.Pass(time.Minute)
		l.phase(linux, api.LabRunning, "")
		if l.Node.Made(linux) != 1 {
			t.Errorf("%d containers were made", l.Node.Made(linux))
		}
	})
}
