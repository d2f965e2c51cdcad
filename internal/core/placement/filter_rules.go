package placement

import (
	"fmt"
	"slices"
	"strings"
)

// runtimeFilter keeps a task where a runtime can run it.
var runtimeFilter = &filter{
	fails: func(_ *cluster, s *site, t Task) bool { return !t.Need.Takes(s.Runtime) },
	alone: func(_ *cluster, s *site, t Task) string { return "node " + s.ID + " " + t.Need.Refuses(s.Runtime) },
	one:   func(c *cluster, t Task) string { return "runs " + c.otherRuntime(t) },
	many:  func(c *cluster, t Task) string { return "run " + c.otherRuntime(t) },
	next:  "see which nodes have the runtime (tend nodes), or add one that has it (tend nodes add)",
}

// otherRuntime returns what the nodes run that can't run a task.
func (c *cluster) otherRuntime(t Task) string {
	for _, s := range c.sites {
		if refuses := t.Need.Refuses(s.Runtime); refuses != "" {
			return strings.TrimPrefix(refuses, "runs ")
		}
	}
	return ""
}

// archFilter keeps an image off nodes that can't run it.
var archFilter = &filter{
	fails: func(_ *cluster, s *site, t Task) bool { return t.foreign(s) },
	alone: func(_ *cluster, s *site, t Task) string {
		return fmt.Sprintf("node %s is %s; the image is %s", s.ID, s.Arch, t.Arch)
	},
	one:  func(c *cluster, t Task) string { return "is " + c.otherArchs(t) + "; the image is " + t.Arch },
	many: func(c *cluster, t Task) string { return "are " + c.otherArchs(t) + "; the image is " + t.Arch },
	next: "add a node of the image's architecture, or push the image to a registry for all of them",
}

// foreign reports whether a node is of another architecture than the task's image.
func (t Task) foreign(s *site) bool { return t.Arch != "" && s.Arch != "" && s.Arch != t.Arch }

// otherArchs returns the architectures of the nodes that can't run the task's image.
func (c *cluster) otherArchs(t Task) string {
	var archs []string
	for _, s := range c.sites {
		if t.foreign(s) && !slices.Contains(archs, s.Arch) {
			archs = append(archs, s.Arch)
		}
	}
	slices.Sort(archs)
	return strings.Join(archs, " or ")
}

// homeFilter keeps a task where its data is.
var homeFilter = &filter{
	fails: func(c *cluster, s *site, t Task) bool { _, node := c.elsewhere(s, t); return node != "" },
	alone: func(c *cluster, s *site, t Task) string {
		volume, node := c.elsewhere(s, t)
		return fmt.Sprintf("its data (%s) is on node %s, not on %s", volume, node, s.ID)
	},
	one:  func(c *cluster, t Task) string { return "does not have its data (" + c.whereabouts(t) + ")" },
	many: func(c *cluster, t Task) string { return "do not have its data (" + c.whereabouts(t) + ")" },
	next: "see to the node that has the data: tend nodes",
}

// home returns the node of a task's volumes, if one of them has any.
func (c *cluster) home(t Task) (node string, settled bool) {
	for _, volume := range t.Volumes {
		if node, settled = c.homes[volume]; settled {
			return node, true
		}
	}
	return "", false
}

// elsewhere returns the first volume of a task that another node has, and that node.
func (c *cluster) elsewhere(s *site, t Task) (volume, node string) {
	for _, volume := range t.Volumes {
		if node, settled := c.homes[volume]; settled && node != s.ID {
			return volume, node
		}
	}
	return "", ""
}

func (c *cluster) whereabouts(t Task) string {
	var parts []string
	for _, volume := range t.Volumes {
		if node, settled := c.homes[volume]; settled {
			parts = append(parts, volume+" is on node "+node)
		}
	}
	return strings.Join(parts, ", ")
}

var constraintFilter = &filter{
	fails: func(_ *cluster, s *site, t Task) bool { return t.unmet(s) != nil },
	alone: func(_ *cluster, s *site, t Task) string {
		unmet := t.unmet(s)
		has := "has none"
		if value := s.Attributes[unmet.Attribute]; value != "" {
			has = "has " + value
		}
		return fmt.Sprintf("node %s does not meet the constraint %s: it %s", s.ID, unmet, has)
	},
	one: constrained("does not meet"), many: constrained("do not meet"),
	next: "change `placement.constraints`, or a node's labels",
}

func (t Task) unmet(s *site) *Constraint {
	for i, constraint := range t.Rules.Constraints {
		if !constraint.Holds(s.Node) {
			return &t.Rules.Constraints[i]
		}
	}
	return nil
}

func constrained(words string) func(*cluster, Task) string {
	return func(_ *cluster, t Task) string {
		if len(t.Rules.Constraints) == 1 {
			return words + " the constraint " + t.Rules.Constraints[0].String()
		}
		var all []string
		for _, constraint := range t.Rules.Constraints {
			all = append(all, constraint.String())
		}
		return words + " all constraints (" + strings.Join(all, ", ") + ")"
	}
}

var reservedMemoryFilter = &filter{
	fails: func(c *cluster, s *site, t Task) bool {
		if t.ReservedMemory == 0 || s.MemoryBytes == 0 {
			return false
		}
		others, _ := c.reserved(s, t)
		return others+t.ReservedMemory > s.MemoryBytes
	},
	alone: func(c *cluster, s *site, t Task) string {
		others, _ := c.reserved(s, t)
		return fmt.Sprintf("node %s has too little memory left: %s asked, %s of %s are reserved by others", s.ID,
			size(t.ReservedMemory), size(others), size(s.MemoryBytes))
	},
	one: func(_ *cluster, t Task) string {
		return "has no " + size(t.ReservedMemory) + " of memory left to reserve"
	},
	many: func(_ *cluster, t Task) string {
		return "have no " + size(t.ReservedMemory) + " of memory left to reserve"
	},
	next: "lower `resources.reservations.memory`, or add a node: tend nodes add",
}

var reservedCPUsFilter = &filter{
	fails: func(c *cluster, s *site, t Task) bool {
		if t.ReservedCPUs == 0 || s.CPUs == 0 {
			return false
		}
		_, others := c.reserved(s, t)
		return others+t.ReservedCPUs > s.CPUs+rounding
	},
	alone: func(c *cluster, s *site, t Task) string {
		_, others := c.reserved(s, t)
		return fmt.Sprintf("node %s has too few cores left: %.3g asked, %.3g of %.3g are reserved by others", s.ID,
			t.ReservedCPUs, others, s.CPUs)
	},
	one: func(_ *cluster, t Task) string {
		return fmt.Sprintf("has no %.3g cores left to reserve", t.ReservedCPUs)
	},
	many: func(_ *cluster, t Task) string {
		return fmt.Sprintf("have no %.3g cores left to reserve", t.ReservedCPUs)
	},
	next: "lower `resources.reservations.cpu`, or add a node: tend nodes add",
}

// rounding is the most that sums of cores may differ.
const rounding = 1e-9

// reserved returns what the other tasks of a node reserve, apart from those that stop before this one starts.
func (c *cluster) reserved(s *site, t Task) (memory int64, cpus float64) {
	memory, cpus = s.reservedMemory, float64(s.reservedNanos)/nanos
	ignored := t.ignored()
	if ignored[0] == ignored[1] {
		ignored[1] = ""
	}
	for _, id := range ignored {
		if old := c.yielding(id); id != "" && old.Node == s.ID {
			memory, cpus = memory-old.ReservedMemory, cpus-old.ReservedCPUs
		}
	}
	return memory, cpus
}

var besideFilter = &filter{
	fails: func(_ *cluster, s *site, t Task) bool {
		return slices.ContainsFunc(t.Rules.Beside, func(workload string) bool { return s.workloads[workload] == 0 })
	},
	alone: func(_ *cluster, s *site, t Task) string {
		return fmt.Sprintf("node %s runs no pod of %s (placement.affinity)", s.ID, strings.Join(t.Rules.Beside, ", "))
	},
	one:  func(_ *cluster, t Task) string { return "runs no pod of " + strings.Join(t.Rules.Beside, ", ") },
	many: func(_ *cluster, t Task) string { return "run no pod of " + strings.Join(t.Rules.Beside, ", ") },
	next: "see what `placement.affinity` names: tend get pods", passing: true,
}

var apartFilter = &filter{
	fails: func(c *cluster, s *site, t Task) bool { return c.crowdedBy(s, t) != "" },
	alone: func(c *cluster, s *site, t Task) string {
		return fmt.Sprintf("node %s runs a pod of %s (placement.anti_affinity)", s.ID, c.crowdedBy(s, t))
	},
	one:  func(_ *cluster, t Task) string { return "runs a pod of " + strings.Join(t.Rules.Apart, ", ") },
	many: func(_ *cluster, t Task) string { return "run a pod of " + strings.Join(t.Rules.Apart, ", ") },
	next: "add a node (tend nodes add), or lower the number of pods that stand apart",
}

// crowdedBy returns the first workload with a task on the node that a task stands apart from. The one that the task
// replaces doesn't count.
func (c *cluster) crowdedBy(s *site, t Task) string {
	for _, workload := range t.Rules.Apart {
		count := s.workloads[workload]
		if old := c.yielding(t.Replaces); old.Workload == workload && old.Node == s.ID && !old.Leaving {
			count--
		}
		if count > 0 {
			return workload
		}
	}
	return ""
}
