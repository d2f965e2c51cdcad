package simulation

import (
	"net"

	"tend.dev/tend/api"
)

// requests sends some to every host, and checks who answers.
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

// request asks for a host once. It reports whether a pod answered.
func (w *World) request(name string) bool {
	pod, ok := w.nodeEdge().route(name + ".test")
	if !ok {
		return false
	}
	w.count.requests.Add(1)
	address, _, err := net.SplitHostPort(pod.Address)
	if err != nil {
		w.fail("pod %s has the address %q", pod.Name, pod.Address)
		return false
	}
	container, alive := w.engine.At(address)
	if !alive {
		return false // connection refused: another pod is tried
	}
	if w.several() && !w.runsOn(pod.Name, w.agents[0].node) {
		return container.Name == pod.Name // of an address that another machine deals out again, the node hears late
	}
	if got := container.Labels[api.LabelName]; got != name {
		w.fail("a request for %s.test was answered by %s", name, container.Name)
	}
	if container.Name != pod.Name {
		w.fail("a request for pod %s was answered by %s", pod.Name, container.Name)
	}
	probes := w.engine.Spec(container.Name).Spec.Probes
	if probes != nil && probes.Readiness != nil && w.behaviourOf(container.ImageID).neverReady {
		w.fail("a request for %s.test was answered by %s, which isn't ready", name, container.Name)
	}
	return true
}
