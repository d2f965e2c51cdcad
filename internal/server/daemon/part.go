package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/internal/platform/recovery"
)

// part runs until its context ends.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// runningPart is a part between start and stop.
type runningPart struct {
	part
	cancel context.CancelFunc
	done   chan error
}

// stopWait bounds the time for stopping a part: more than any part's own drain time.
const stopWait = 20 * time.Second

// start runs the part, again after a panic. If it ends before it was asked to, the whole server ends.
func (p part) start(failed context.CancelCauseFunc) *runningPart {
	ctx, cancel := context.WithCancel(context.Background())
	r := &runningPart{part: p, cancel: cancel, done: make(chan error, 1)}
	recovery.Go(func() {
		err := recovery.Keep(ctx, p.run)
		if ctx.Err() == nil {
			failed(fmt.Errorf("%s ended: %w", p.name, errors.Join(err, errEndedEarly)))
		}
		r.done <- err
	})
	return r
}

var errEndedEarly = errors.New("before it was stopped")

// stop ends the part and waits for it, up to stopWait.
func (r *runningPart) stop() error {
	r.cancel()
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case err := <-r.done:
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("stop %s: %w", r.name, err)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("stop %s: it did not end within %s and was left behind", r.name, stopWait)
	}
}
