package syncs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/platform/recovery"
)

// The time that a poll may take: among the quick sources, and among the slow ones; and how long after that it may take
// to end.
const (
	quickTime = 15 * time.Second
	slowTime  = 5 * time.Minute
	endTime   = 2 * time.Second
)

// turns bound how many sources are polled at once. A source that doesn't answer within quickTime loses its turn, and
// gets the next ones among the slow sources until it answers sooner. So sources that hang hold up each other, and no
// others. Who waited longest is next.
type turns struct {
	quick, slow chan struct{}
}

func newTurns() *turns {
	return &turns{quick: make(chan struct{}, pollsAtOnce), slow: make(chan struct{}, pollsAtOnce)}
}

// fetched holds what a poll found.
type fetched struct {
	revision string
	files    []source.File
	err      error
}

// polling holds what is known of a source from its earlier polls. It belongs to the goroutine that polls.
type polling struct {
	// slow: it lost its last turn.
	slow bool
	// ended is closed when the last poll has ended; nil before the first.
	ended chan struct{}
}

// errHangs is the error of a poll while an earlier one goes on: that of a folder whose disk doesn't answer can't be
// ended.
var errHangs = errors.New("an earlier poll of it has not ended: it doesn't answer")

// hangs reports whether the last poll goes on.
func (p *polling) hangs() bool {
	if p.ended == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// take polls when it is the source's turn.
func (t *turns) take(ctx context.Context, p *polling, poll func(context.Context) fetched) fetched {
	if p.hangs() {
		return fetched{err: errHangs}
	}
	if !p.slow {
		got, late := p.turn(ctx, t.quick, quickTime, poll)
		if !late || p.hangs() {
			return got
		}
		p.slow = true
	}
	sooner := make(chan bool, 1)
	got, _ := p.turn(ctx, t.slow, slowTime, func(ctx context.Context) fetched {
		quick, cancel := context.WithTimeout(ctx, quickTime)
		defer cancel()
		got := poll(ctx)
		sooner <- quick.Err() == nil
		return got
	})
	select {
	case answered := <-sooner:
		p.slow = !answered
	default: // it goes on, or had no turn
	}
	return got
}

// turn waits for a place and polls within a time. late reports that the time was over first.
func (p *polling) turn(ctx context.Context, places chan struct{}, most time.Duration,
	poll func(context.Context) fetched) (got fetched, late bool) {
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return fetched{err: ctx.Err()}, false
	}
	within, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it took longer than %s", most))
	defer cancel()
	answer, ended := make(chan fetched, 1), make(chan struct{})
	p.ended = ended
	recovery.Go(func() {
		defer close(ended)
		var found fetched
		if err := recovery.Call(func() error { found = poll(within); return nil }); err != nil {
			found = fetched{err: err}
		}
		answer <- found
	})
	var patience <-chan time.Time
	for over := within.Done(); ; {
		select {
		case got = <-answer:
			<-ended
			return got, got.err != nil && within.Err() != nil && ctx.Err() == nil
		case <-over:
			timer := time.NewTimer(endTime)
			defer timer.Stop()
			over, patience = nil, timer.C
		case <-patience:
			return fetched{err: context.Cause(within)}, true
		}
	}
}
