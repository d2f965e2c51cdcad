package simulation

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/node/relay"
)

// edge simulates the routing of a node's proxy: it keeps the agent's routing table, and chooses pods from it. The real
// code compiles the routes.
type edge struct {
	mu     sync.Mutex
	routes []ingress.Route
	turn   int
	// endpoint answers the node's relay; nil while the agent doesn't run.
	endpoint func(task string, port int, protocol string) (string, error)
}

var _ agent.Edge = (*edge)(nil)

// Update implements agent.Edge.
func (e *edge) Update(routes []ingress.Route, _ []certs.Policy) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.routes = slices.Clone(routes)
}

// Drained implements agent.Edge: simulated requests take no time.
func (e *edge) Drained(context.Context, string) error { return nil }

// Listeners implements agent.Edge.
func (e *edge) States() (plain, secure ingress.ListenerState) {
	return ingress.ListenerState{}, ingress.ListenerState{}
}

// Ports implements agent.Edge: all are open.
func (e *edge) Ports() map[string]ingress.ListenerState {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]ingress.ListenerState{}
	for _, r := range e.routes {
		if r.Listen.Port != 0 {
			out[r.Listen.String()] = ingress.ListenerState{Address: r.Listen.Address(), Wanted: true, Open: true}
		}
	}
	return out
}

// Certificate implements agent.Edge.
func (e *edge) Certificate(string) (certs.State, bool) { return certs.State{}, false }

// Run implements agent.Edge. A stopped proxy answers no request, also if its process continues, as when an agent drops
// its state and starts over.
func (e *edge) Run(ctx context.Context) error {
	<-ctx.Done()
	e.Update(nil, nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endpoint = nil
	return nil
}

// relay stores the function that returns pods' addresses to other nodes. Nothing listens at the returned address: see
// ask.
func (e *edge) relay(endpoint func(task string, port int, protocol string) (string, error)) netip.AddrPort {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endpoint = endpoint
	return netip.MustParseAddrPort("192.0.2.1:8690")
}

// ask asks the node for the address of a pod, as another node's proxy does; ok is false if the node refuses.
func (e *edge) ask(to relay.Target) (address string, ok bool) {
	e.mu.Lock()
	endpoint := e.endpoint
	e.mu.Unlock()
	if endpoint == nil {
		return "", false
	}
	address, err := endpoint(to.Task, to.Port, cmp.Or(to.Protocol, api.ProtocolTCP))
	return address, err == nil
}

// route returns the pod of the next request on a route; false if there is no such route, or no pod.
func (e *edge) route(is func(ingress.Route) bool) (ingress.Pod, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.routes {
		if is(r) && len(r.Pods) > 0 {
			e.turn++
			return r.Pods[e.turn%len(r.Pods)], true
		}
	}
	return ingress.Pod{}, false
}
