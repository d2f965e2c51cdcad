package agent

import (
	"context"
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/node/runtime"
)

// checkPorts refuses to create or start a container that publishes a port at which Tend itself listens on this node. It
// does so too while that listener isn't open: an engine starts what exists by itself, maybe before Tend listens again.
// The servers refuse such ports to everyone but admins; they can't know each listener of each node.
func (a *Agent) checkPorts(ctx context.Context, task api.Task) error {
	release, err := a.releases.of(ctx, task)
	if err != nil || len(ports.Fixed(release.Spec)) == 0 {
		return nil //nolint:nilerr // what is made of the release says so; what exists publishes what it did
	}
	port, by, taken := ports.Taken(release.Spec, slices.Concat(a.opts.Listeners(ctx), a.served()))
	if !taken {
		return nil
	}
	return &runtime.RejectedError{Reason: "PortTaken",
		Detail: fmt.Sprintf("%s: Tend itself listens at port %d of this node, %s", port.Field, port.Number, by.For),
		Next:   fmt.Sprintf("choose another port in `ports`, or change %s; Tend retries", by.Change)}
}

// served returns the listeners that the node's proxy has, or is about to open, for the ingresses that it serves.
func (a *Agent) served() (out []ports.Listener) {
	if a.serving == nil {
		return nil
	}
	hosts := false
	for _, in := range a.control.Served().Ingresses {
		hosts = hosts || in.Spec.Host != ""
		for _, port := range ports.ListenedBy(in.Spec) {
			out = append(out, ports.Listener{Port: port, For: "for " + in.Ref.String(), Change: "its listen"})
		}
	}
	if !hosts {
		return out
	}
	plain, secure := a.serving.edge.States()
	return slices.Concat(out, ports.ListenerAt(plain.Address, "for ingresses", "--ingress-http"),
		ports.ListenerAt(secure.Address, "for ingresses", "--ingress-https"))
}
