package boundary

import (
	"strings"

	"tend.dev/tend/api"
)

// maxReason bounds each text of a node's listeners and of its network, in bytes.
const maxReason = 512

// Ports returns what counts of the report of a node that may serve no ingress: the ports of every node that are
// declared, and why it doesn't reach the pods of nodes that there are.
func Ports(said api.IngressNodeStatus, declared, nodes map[string]bool) api.IngressNodeStatus {
	out := api.IngressNodeStatus{Node: said.Node}
	for at, listener := range said.Ports {
		if declared[at] {
			if out.Ports == nil {
				out.Ports = map[string]api.ListenerStatus{}
			}
			listener.Address, listener.Error = Reason(listener.Address), Reason(listener.Error)
			out.Ports[at] = listener
		}
	}
	for name, reason := range said.Unreached {
		if nodes[name] && len(out.Ports) > 0 {
			if out.Unreached == nil {
				out.Unreached = map[string]string{}
			}
			out.Unreached[name] = Reason(reason)
		}
	}
	return out
}

// Reason returns what counts of a text of a node: its beginning.
func Reason(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxReason)], "") }
