package agent

import "context"

// member is a part of the agent that runs until its context ends and is ready from the start.
type member struct {
	run   func(ctx context.Context) error
	ready chan struct{}
}

func newMember(run func(ctx context.Context) error) member {
	ready := make(chan struct{})
	close(ready)
	return member{run: run, ready: ready}
}

// Run implements engine.Member.
func (m member) Run(ctx context.Context) error { return m.run(ctx) }

// Ready implements engine.Member.
func (m member) Ready() <-chan struct{} { return m.ready }
