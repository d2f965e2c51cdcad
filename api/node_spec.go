package api

import (
	"maps"
	"slices"
	"strings"
)

// NodeSpec holds the decisions of people about a machine. An object of the kind node may be declared before its machine
// joins, and a machine without one has the zero value.
type NodeSpec struct {
	// Labels are the values that placement.constraints compare as node.labels.KEY. They override the labels of `tend
	// agent --label`.
	Labels map[string]string `json:"labels,omitempty" hcl:"labels,optional"`
	// Availability is "active", "cordoned" (the node keeps its pods and gets no more) or "drained" (its pods move to other
	// nodes, under the strategies of their workloads). Default active.
	Availability string `json:"availability,omitempty" hcl:"availability,optional"`
	// Ingress lets the machine serve ingresses. It then gets the keys of their certificates. Default: the setting of
	// the token that the node joined with (tend nodes add --ingress); true for the node of a server.
	Ingress *bool `json:"ingress,omitempty" hcl:"ingress,optional"`
}

// The values of NodeSpec.Availability.
const (
	NodeActive   = "active"
	NodeCordoned = "cordoned"
	NodeDrained  = "drained"
)

func (c *checker) node(s NodeSpec) {
	c.oneOf("availability", s.Availability, NodeActive, NodeCordoned, NodeDrained)
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		if label == "" || strings.ContainsAny(label, "=! ") {
			c.add(key("labels", label), "a label's key is not empty and holds no =, ! or space")
		}
		if strings.ContainsAny(s.Labels[label], "=! ") {
			c.add(key("labels", label), "a label's value holds no =, ! or space, so that a constraint can name it")
		}
	}
}
