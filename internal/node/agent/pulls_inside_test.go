package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

type refusing struct{}

func (refusing) Pull(context.Context, runtime.PullSpec, func(int)) (runtime.Image, error) {
	return runtime.Image{}, errors.New("unauthorized")
}

// TestAPullThatHasEndedHasLeftItsResult: otherwise a reconcile that finds none under way begins another one. So the
// result is kept while nobody can ask.
func TestAPullThatHasEndedHasLeftItsResult(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	work := newOperations(1)
	ran := make(chan error, 1)
	go func() { ran <- work.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ran })
	p := newPulls(nil, refusing{}, work, time.Now)
	ended := make(chan error, 1)
	p.begin(ctx, runtime.PullSpec{Reference: "web:1"}, false, "image/web", listener{record: func(err error) {
		if p.mu.TryLock() {
			p.mu.Unlock()
			t.Error("a reconcile at this moment finds neither a pull nor its result")
		}
		ended <- err
	}, wake: func() {}})
	if err := <-ended; err == nil {
		t.Error("the refusal is lost")
	}
}

// stubborn is a registry's client that ends a pull when the test says so, not when the pull is cancelled.
type stubborn chan chan error

func (s stubborn) Pull(context.Context, runtime.PullSpec, func(int)) (runtime.Image, error) {
	answer := make(chan error)
	s <- answer
	return runtime.Image{}, <-answer
}

// TestACancelledPullAnswersNobody: who wants an image whose pull was just cancelled gets the end of another pull.
func TestACancelledPullAnswersNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		work, begun := newOperations(2), stubborn(make(chan chan error))
		ran := make(chan error)
		go func() { ran <- work.Run(ctx) }()
		p, spec := newPulls(nil, begun, work, time.Now), runtime.PullSpec{Reference: "web:1"}
		var ends []string
		listen := func(who string) {
			p.begin(ctx, spec, false, who, listener{
				record: func(err error) { ends = append(ends, fmt.Sprint(who, " ", err)) }, wake: func() {},
			})
		}
		listen("a")
		first := <-begun
		p.leave("a", "")
		listen("b")
		second := <-begun
		first <- context.Canceled
		synctest.Wait()
		second <- nil
		synctest.Wait()
		if want := []string{"b <nil>"}; !slices.Equal(ends, want) {
			t.Errorf("%q, want %q", ends, want)
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}
