package api

import (
	"cmp"
	"fmt"
	"strings"
)

// Placement says on which nodes the pods of a workload may run, and which of them it prefers. A change moves only the
// pods that may not stay where they are.
type Placement struct {
	// Constraints must all hold for a node: "node.labels.zone == eu", "node.arch != arm64". What can be compared is
	// node.id, node.hostname, node.runtime, node.arch, node.os and node.labels.KEY.
	Constraints []string `json:"constraints,omitempty" hcl:"constraints,optional"`
	// Preferences are constraints that may fail. Of two nodes the first preference that only one meets decides.
	Preferences []string `json:"preferences,omitempty" hcl:"preferences,optional"`
	// Spread is an attribute of nodes, such as node.labels.zone: each of its values gets equally many pods.
	Spread string `json:"spread,omitempty" hcl:"spread,optional"`
	// Affinity names workloads, as kind/name or kind/scope/name: a pod runs only where a pod of each of them runs.
	Affinity []string `json:"affinity,omitempty" hcl:"affinity,optional"`
	// AntiAffinity names workloads, possibly this one: a pod runs only where no pod of theirs runs.
	AntiAffinity []string `json:"anti_affinity,omitempty" hcl:"anti_affinity,optional"`
	// SharedStorage declares that the volumes have the same content on every node, as on a network file system, so
	// that pods may move. Default: a pod with a volume it can write to stays on the node that has it.
	SharedStorage bool `json:"shared_storage,omitempty" hcl:"shared_storage,optional"`
}

// MaxPreferences bounds the entries of a list of Placement.
const MaxPreferences = 16

// NodeConstraint is a constraint taken apart: whether an attribute of a node has a value, or with Not any other.
type NodeConstraint struct {
	Attribute, Value string
	Not              bool
}

// ParseNodeConstraint reads "ATTRIBUTE == VALUE" or "ATTRIBUTE != VALUE". The error says what is wrong with the text.
func ParseNodeConstraint(text string) (NodeConstraint, error) {
	attribute, value, found := strings.Cut(text, "==")
	not := false
	if !found {
		attribute, value, not = strings.Cut(text, "!=")
	}
	c := NodeConstraint{Attribute: strings.TrimSpace(attribute), Value: strings.TrimSpace(value), Not: not}
	if !found && !not || c.Value == "" || strings.ContainsAny(c.Value, "=! ") {
		return c, fmt.Errorf(`%q is not a constraint such as "node.labels.zone == eu" or "node.arch != arm64"`, text)
	}
	return c, checkNodeAttribute(c.Attribute)
}

func checkNodeAttribute(name string) error {
	switch name {
	case NodeID, NodeHostname, NodeRuntime, NodeArch, NodeOS:
		return nil
	}
	if label, ok := strings.CutPrefix(name, NodeLabels); ok && label != "" && !strings.ContainsAny(label, " =!") {
		return nil
	}
	return fmt.Errorf("%q is not node.id, node.hostname, node.runtime, node.arch, node.os or node.labels.KEY", name)
}

// The attributes of a node that constraints compare. NodeLabels is the prefix of its labels.
const (
	NodeID       = "node.id"
	NodeHostname = "node.hostname"
	NodeRuntime  = "node.runtime"
	NodeArch     = "node.arch"
	NodeOS       = "node.os"
	NodeLabels   = "node.labels."
)

// The runtimes that nodes report: Docker's engine, and plain processes.
const (
	RuntimeDocker  = "docker"
	RuntimeProcess = "process"
)

// NodeAttributes are the attributes of a node, with the labels of its object beside those that its agent has.
func NodeAttributes(status NodeStatus, labels map[string]string) map[string]string {
	out := map[string]string{
		NodeID: status.ID, NodeHostname: status.Hostname, NodeRuntime: status.Runtime,
		NodeArch: status.Arch, NodeOS: status.OS,
	}
	for _, each := range []map[string]string{status.Labels, labels} {
		for key, value := range each {
			out[NodeLabels+key] = value
		}
	}
	return out
}

func (c *checker) mode(s DeploymentSpec) {
	c.oneOf("mode", s.Mode, ModeReplicated, ModeGlobal)
	if s.Global() && s.Replicas != nil {
		c.add("replicas", "is for mode replicated: a global deployment has one pod on each node")
	}
	if s.Global() && s.Autoscale != nil {
		c.add("autoscale", "is for mode replicated: a global deployment has one pod on each node")
	}
}

func (c *checker) placement(p *Placement) {
	if p == nil {
		return
	}
	c.constraints("placement.constraints", p.Constraints)
	c.constraints("placement.preferences", p.Preferences)
	if p.Spread != "" {
		c.addError("placement.spread", checkNodeAttribute(p.Spread))
	}
	for field, entries := range map[string][]string{"placement.affinity": p.Affinity,
		"placement.anti_affinity": p.AntiAffinity} {
		for i, entry := range entries {
			ref, err := ParseDependency(entry, "any")
			if err == nil && !ref.Kind.HasSlots() {
				err = fmt.Errorf("%q names no deployment or statefulset", entry)
			}
			c.addError(index(field, i), err)
		}
	}
}

func (c *checker) constraints(field string, entries []string) {
	if len(entries) > MaxPreferences {
		c.add(field, "has %d entries; %d are possible", len(entries), MaxPreferences)
	}
	for i, entry := range entries {
		_, err := ParseNodeConstraint(entry)
		c.addError(index(field, i), err)
	}
}

// reservations checks what is reserved, and that it is not above the limits.
func (c *checker) reservations(field string, r Resources) {
	if r.Reservations == nil {
		return
	}
	limits := ResourceLimits{}
	if r.Limits != nil {
		limits = *r.Limits
	}
	if reserved, err := ParseCPU(r.Reservations.CPU); r.Reservations.CPU != "" {
		limit, limitErr := ParseCPU(limits.CPU)
		c.addError(field+".reservations.cpu",
			cmp.Or(err, above(limitErr == nil && reserved > limit, r.Reservations.CPU, limits.CPU)))
	}
	if reserved, err := ParseMemory(r.Reservations.Memory); r.Reservations.Memory != "" {
		limit, limitErr := ParseMemory(limits.Memory)
		c.addError(field+".reservations.memory",
			cmp.Or(err, above(limitErr == nil && reserved > limit, r.Reservations.Memory, limits.Memory)))
	}
}

func above(is bool, reserved, limit string) error {
	if !is {
		return nil
	}
	return fmt.Errorf("%s is more than the limit of %s, so it could never be used", reserved, limit)
}
