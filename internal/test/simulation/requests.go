package simulation

import (
	"net"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/node/runtime"
)

// requests sends requests to every host, and checks which pods answer.
func (w *World) requests(n int) {
	select {
	case <-w.server.done:
		return
	default:
	}
	for _, name := range served {
		for range n {
			w.request(name)
		}
	}
}

// request sends one request to a host. It reports whether a pod answered.
func (w *World) request(name string) bool {
	host := name + ".test"
	pod, ok := w.nodeEdge().route(func(r ingress.Route) bool { return r.Host == host })
	return ok && w.answered("n1", name, host, pod)
}

// answered sends a request to the pod that a node's proxy chose for a workload, and checks the answer.
func (w *World) answered(node, name, at string, pod ingress.Pod) bool {
	w.count.requests.Add(1)
	container, reached := w.reached(node, pod)
	if !reached {
		return false // connection refused: another pod is tried
	}
	if got := container.Labels[api.LabelName]; got != name {
		w.fail("a request for %s was answered by %s", at, container.Name)
	}
	if container.Name != pod.Name {
		w.fail("a request for pod %s was answered by %s", pod.Name, container.Name)
	}
	probes := w.engine.Spec(container.Name).Spec.Probes
	if probes != nil && probes.Readiness != nil && w.behaviourOf(container.ImageID).neverReady {
		w.fail("a request for %s was answered by %s, which isn't ready", at, container.Name)
	}
	return true
}

// reached returns the container at a pod's address as a node sees it: at its own address on the same node, at the
// relay's on another.
func (w *World) reached(node string, pod ingress.Pod) (runtime.Container, bool) {
	on, at := node, pod.Address
	if pod.Via != (relay.Target{}) {
		other := w.machine(pod.Via.Node)
		if other == nil || other.off.Load() {
			return runtime.Container{}, false
		}
		var named bool
		if at, named = other.edge.ask(pod.Via); !named {
			return runtime.Container{}, false
		}
		on = pod.Via.Node
	}
	address, _, err := net.SplitHostPort(at)
	if err != nil {
		w.fail("pod %s has the address %q", pod.Name, at)
		return runtime.Container{}, false
	}
	return w.engine.At(on, address)
}
