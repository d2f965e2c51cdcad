package reconciler

import "context"

// NewMember returns a member that runs until its context ends and is ready from the start.
func NewMember(run func(ctx context.Context) error) Member {
	ready := make(chan struct{})
	close(ready)
	return member{run: run, ready: ready}
}

type member struct {
	run   func(ctx context.Context) error
	ready chan struct{}
}

// Run implements Member.
func (m member) Run(ctx context.Context) error { return m.run(ctx) }

// Ready implements Member.
func (m member) Ready() <-chan struct{} { return m.ready }
