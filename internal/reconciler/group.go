package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/internal/platform/recovery"
)

// Member is a member of a Group: a Controller, another Group, or anything that runs until its context ends.
type Member interface {
	Run(ctx context.Context) error
	// Ready returns a channel that is closed when the member has caught up.
	Ready() <-chan struct{}
}

// GroupOptions bound a Group's waits. The zero value is ready to use.
type GroupOptions struct {
	// StartWait is the time for which the next member waits for the previous one to be ready; default 5 s. It starts
	// then anyway.
	StartWait time.Duration
	// StopWait is the time that a member has to return after its context ended; default 15 s, more than a Controller's
	// drain time. The previous member is stopped then anyway.
	StopWait time.Duration
}

// Group runs members in order and stops them in reverse order: a member may rely on those before it.
type Group struct {
	opts    GroupOptions
	members []Member
	ready   chan struct{}
}

// NewGroup returns a Group of members, the first started first.
func NewGroup(opts GroupOptions, members ...Member) *Group {
	opts.StartWait = orDefault(opts.StartWait, 5*time.Second)
	opts.StopWait = orDefault(opts.StopWait, 15*time.Second)
	return &Group{opts: opts, members: members, ready: make(chan struct{})}
}

// Ready returns a channel that is closed once every member is ready.
func (g *Group) Ready() <-chan struct{} { return g.ready }

// Run works until ctx ends or a member returns by itself, and stops all. It returns the errors, in the order of the
// stop; a member that doesn't return is a *StuckError.
func (g *Group) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var started []*launched
	for _, member := range g.members {
		if ctx.Err() != nil {
			break
		}
		started = append(started, launch(ctx, member, cancel))
		g.awaitReady(ctx, member)
	}
	var waiter recovery.Group
	waiter.Go(func() { g.signalReady(ctx) })
	<-ctx.Done()
	waiter.Wait()

	var faults []error
	for _, l := range slices.Backward(started) {
		faults = append(faults, l.stop(g.opts.StopWait))
	}
	return errors.Join(faults...)
}

func (g *Group) awaitReady(ctx context.Context, member Member) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.StartWait)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-member.Ready():
	}
}

func (g *Group) signalReady(ctx context.Context) {
	for _, member := range g.members {
		select {
		case <-ctx.Done():
			return
		case <-member.Ready():
		}
	}
	close(g.ready)
}

// launched is a running member with its own context, so that it outlives the group's until its turn to stop.
type launched struct {
	member Member
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid once done is closed
}

// launch starts a member; over is called when it returns, so that one that ends by itself ends the group. A member that
// panics runs again.
func launch(ctx context.Context, member Member, over func()) *launched {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &launched{member: member, cancel: cancel, done: make(chan struct{})}
	recovery.Go(func() {
		defer over()
		defer close(l.done)
		l.err = recovery.Keep(own, member.Run)
	})
	return l
}

func (l *launched) stop(wait time.Duration) error {
	l.cancel()
	if !closedWithin(l.done, wait) {
		return &StuckError{Name: nameOf(l.member)}
	}
	return l.err
}

// nameOf returns a member's name, if it has one.
func nameOf(member Member) string {
	if named, ok := member.(interface{ Name() string }); ok {
		return named.Name()
	}
	return fmt.Sprintf("%T", member)
}
