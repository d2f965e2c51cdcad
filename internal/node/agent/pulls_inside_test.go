package agent

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

type refusing struct{}

func (refusing) Pull(context.Context, runtime.PullSpec, func(int)) (runtime.Image, error) {
	return runtime.Image{}, errors.New("unauthorized")
}

// TestAPullThatHasEndedHasLeftItsResult: otherwise a reconcile that finds none under way begins another one.
func TestAPullThatHasEndedHasLeftItsResult(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	work := newOperations(1)
	ran := make(chan error, 1)
	go func() { ran <- work.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ran })
	p := newPulls(nil, refusing{}, work, time.Now)
	spec := runtime.PullSpec{Reference: "web:1"}
	for range 1000 {
		var left atomic.Bool
		woken := make(chan struct{})
		p.begin(ctx, spec, false, "image/web", listener{
			record: func(err error) { left.Store(err != nil) }, wake: func() { close(woken) },
		})
		for under := true; under; {
			_, under = p.running(spec)
			goruntime.Gosched()
		}
		if !left.Load() {
			t.Fatal("a pull counts as ended, and has left no result")
		}
		<-woken
	}
}
