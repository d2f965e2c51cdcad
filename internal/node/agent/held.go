package agent

import (
	"context"

	"tend.dev/tend/internal/engine"
)

// held is a member that starts when the agent may touch containers.
type held struct {
	engine.Member
	hold <-chan struct{}
}

// Run implements engine.Member.
func (h held) Run(ctx context.Context) error {
	select {
	case <-h.hold:
		return h.Member.Run(ctx)
	case <-ctx.Done():
		return nil
	}
}

// heldBack makes members wait until the agent may touch containers. Then the node is reported again.
func (a *Agent) heldBack(members ...engine.Member) (out []engine.Member) {
	for _, m := range members {
		out = append(out, held{m, a.opts.Hold})
	}
	return append(out, engine.NewMember(func(ctx context.Context) error {
		select {
		case <-a.opts.Hold:
			a.machine.refresh()
		case <-ctx.Done():
		}
		<-ctx.Done()
		return nil
	}))
}
