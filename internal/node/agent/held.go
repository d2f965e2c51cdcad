package agent

import (
	"context"

	"tend.dev/tend/internal/reconciler"
)

// held is a member that starts when the agent may touch containers.
type held struct {
	reconciler.Member
	hold <-chan struct{}
}

// Run implements reconciler.Member.
func (h held) Run(ctx context.Context) error {
	select {
	case <-h.hold:
		return h.Member.Run(ctx)
	case <-ctx.Done():
		return nil
	}
}

// Ready implements reconciler.Member. The members after one that is held don't wait for it: the listeners of ingresses
// open while the cluster is paused.
func (h held) Ready() <-chan struct{} {
	select {
	case <-h.hold:
		return h.Member.Ready()
	default:
		return alwaysReady
	}
}

// alwaysReady is closed.
var alwaysReady = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// heldBack makes members wait until the agent may touch containers. Then the node is reported again.
func (a *Agent) heldBack(members ...reconciler.Member) (out []reconciler.Member) {
	for _, m := range members {
		out = append(out, held{m, a.opts.Hold})
	}
	return append(out, reconciler.NewMember(func(ctx context.Context) error {
		select {
		case <-a.opts.Hold:
			a.machine.refresh()
		case <-ctx.Done():
		}
		<-ctx.Done()
		return nil
	}))
}
