package simulation

import (
	"fmt"
	"math/rand/v2"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/ingress"
)

// With several machines, people add ports of every node, TCP or UDP, to the served workloads, and remove them. Each
// port belongs to one workload in the whole run: an answer of any other is wrong.

// portOf are the ports of the served workloads.
var portOf = map[string]int{"web": 7001, "api": 7002}

func portRef(name string) api.Ref {
	return api.Ref{Kind: api.KindIngress, Scope: scope, Name: name + "-port"}
}

// portVerb adds or removes the port of a workload after some steps of a world with several machines.
func (w *World) portVerb(step int) {
	if !w.several() {
		return
	}
	random := rand.New(rand.NewPCG(w.opts.Seed, 15<<32+uint64(step)))
	name, what := anyOf(random, served), random.IntN(16)
	switch what {
	case 0, 1, 2:
		listen := fmt.Sprint(portOf[name]) + anyOf(random, []string{"", "/udp"})
		w.apply(objectOf(portRef(name), api.IngressSpec{Listen: listen, Service: name, Port: 8080}))
	case 3:
		w.remove(portRef(name))
	}
}

// edges returns the proxies of all nodes, by node.
func (w *World) edges() map[string]*edge {
	out := map[string]*edge{}
	for _, m := range w.agents {
		if !m.off.Load() {
			out[m.node] = m.edge
		}
	}
	return out
}

// knock connects to the ports of every node, and checks which workload answers.
func (w *World) knock() {
	if !w.several() {
		return
	}
	for node, proxy := range w.edges() {
		for _, name := range served {
			for _, protocol := range []string{api.ProtocolTCP, api.ProtocolUDP} {
				w.knockAt(node, proxy, name, protocol)
			}
		}
	}
}

// knockAt connects once to the port of a workload on a node. It reports whether a pod answered.
func (w *World) knockAt(node string, proxy *edge, name, protocol string) bool {
	listen := api.Listen{Port: portOf[name], Protocol: protocol}
	pod, ok := proxy.route(func(r ingress.Route) bool { return r.Listen == listen })
	return ok && w.answered(node, name, fmt.Sprintf("port %s of %s", listen, node), pod)
}

// closedPorts returns the nodes on which a declared port of a workload doesn't answer, and the open ports that nothing
// declares.
func (w *World) closedPorts() (out []string) {
	if !w.several() {
		return nil
	}
	declared := map[string]bool{}
	for _, object := range w.declaredObjects() {
		var spec api.IngressSpec
		if object.Kind != api.KindIngress {
			continue
		}
		if decode(object.Spec, &spec); spec.Listen == "" {
			continue
		}
		listen, err := api.ParseListen(spec.Listen)
		if err != nil {
			w.fail("%s is stored with the port %q: %v", object.Ref(), spec.Listen, err)
		}
		declared[listen.String()] = true
		ref := api.Ref{Kind: api.KindDeployment, Scope: scope, Name: spec.Service}
		if len(w.servingOf(ref)) == 0 || w.verdict(ref) != well {
			continue
		}
		for node, proxy := range w.edges() {
			if !w.knockAt(node, proxy, spec.Service, listen.Protocol) {
				out = append(out, fmt.Sprintf("port %s of %s is answered by no pod", listen, node))
			}
		}
	}
	for node, proxy := range w.edges() {
		for port := range proxy.Ports() {
			if !declared[port] {
				out = append(out, fmt.Sprintf("port %s of %s is open, and nothing declares it", port, node))
			}
		}
	}
	return out
}
