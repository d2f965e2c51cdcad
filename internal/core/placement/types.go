package placement

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/ports"
)

// Task is a task to place, or one that was placed and may still hold resources.
type Task struct {
	ID string
	// Name is the pod's name. If it is empty, the ID is shown.
	Name string
	// Workload is the owner of the task; tasks of one workload are spread over nodes.
	Workload string
	// Node the task was placed on; empty asks for one.
	Node string
	// Leaving is set if the task is no longer wanted. It doesn't count towards spread and load, but holds its ports
	// until it stopped.
	Leaving bool
	// Stopped is set if no container of it runs, and none will. It blocks nothing.
	Stopped bool
	// Replaces is the task it takes over from; After the one that must have stopped before it starts. If After is set,
	// the ports of both are ignored: they will be free by then.
	Replaces string
	After    string
	// Toward is the node that Rebalance chose for it, and gets it if it takes it; empty chooses among all.
	Toward string
	// Demand holds its demands on the node. It is shared by the tasks of a release, and not to be changed.
	*Demand
	// Volumes lists the names of its volumes and the host paths with its data. A node that has one of them is its
	// home.
	Volumes []string
	// CreatedAt decides between tasks that want the same: the older one gets it.
	CreatedAt time.Time
}

// Demand holds the demands of a task on a node.
type Demand struct {
	// Need holds its demands on the runtime.
	Need fit.Need
	// Arch is the architecture of the image; empty takes any.
	Arch string
	// MemoryBytes and CPUs are limits: what a node must have in all.
	MemoryBytes int64
	CPUs        float64
	// ReservedMemory and ReservedCPUs must be left over by what the other tasks of the node reserve.
	ReservedMemory int64
	ReservedCPUs   float64
	Ports          []ports.Port
	Rules          Rules
}

// Rules holds the rules of a workload's placement block.
type Rules struct {
	// All Constraints must hold. The first of Preferences that distinguishes two nodes decides between them.
	Constraints, Preferences []Constraint
	// Spread is an attribute of nodes whose values should have equally many tasks of the workload; empty if there is
	// none.
	Spread string
	// Beside are workloads of which the node must run a task, Apart those of which it must run none. A task doesn't
	// stand apart from the one that it replaces.
	Beside, Apart []string
}

// Constraint compares an attribute of a node with a value. A node without the attribute has the empty value.
type Constraint struct {
	Attribute, Value string
	// Not asks for any other value.
	Not bool
}

// Holds reports whether a node meets the constraint.
func (c Constraint) Holds(n Node) bool { return (n.Attributes[c.Attribute] == c.Value) != c.Not }

// Constraints reads the constraints of a placement block. What can't be read holds nothing back.
func Constraints(entries []string) (out []Constraint) {
	for _, entry := range entries {
		if c, err := api.ParseNodeConstraint(entry); err == nil {
			out = append(out, Constraint(c))
		}
	}
	return out
}

func (c Constraint) String() string {
	if c.Not {
		return c.Attribute + " != " + c.Value
	}
	return c.Attribute + " == " + c.Value
}

// Node is a machine tasks may run on.
type Node struct {
	ID string
	// Alive reports whether its agent answers, Ready whether its runtime does; Message says why not.
	Alive   bool
	Ready   bool
	Message string
	// Unheard is set while no server hears the node, though it still counts as alive; LastHeard is when one did, if that
	// is known. Awaited is set besides while that may only be because its server was started again a moment ago.
	Unheard   bool
	LastHeard time.Time
	Awaited   bool
	// Cordoned nodes take no more tasks; Draining ones also lose those they have.
	Cordoned, Draining bool
	// DiskFull nodes take tasks only if no other node does.
	DiskFull bool
	// Losses is the number of times the node was lost within an hour, if it gets no tasks because of that until Until;
	// else 0. Until may not be known yet.
	Losses int
	Until  time.Time
	// Attributes are the values that constraints compare: node.id, node.arch, node.labels.zone.
	Attributes  map[string]string
	Runtime     string  // as it reports it; empty is unknown, and every task fits
	Arch        string  // as Go names it; empty is unknown, and every image fits
	MemoryBytes int64   // in total; 0 is unknown, and everything fits
	CPUs        float64 // the same
}

// Assignment puts a task on a node.
type Assignment struct {
	Task, Node string
}

// Reason returns the word for it in conditions.
func (r Refusal) Reason() string {
	switch {
	case r.NoRuntime:
		return api.ReasonNoRuntime
	case r.TooLarge:
		return api.ReasonTooLarge
	case r.Awaits:
		return api.ReasonWaitingForHeartbeat
	}
	return api.ReasonNoNode
}

// Refusal is the reason why a task fits on no node.
type Refusal struct {
	Task    string
	Message string
	// Next is the step that helps against what most of the nodes lack.
	Next string
	// NoRuntime is set if the task needs a runtime that no node has, whatever else becomes of the nodes.
	NoRuntime bool
	// TooLarge is set if the task asks for more than any node has in all.
	TooLarge bool
	// Awaits is set if the task only waits for nodes whose server was started a moment ago: it goes on by itself.
	Awaits bool
	// Crowded is set if only the task that it replaces is in the way: it would fit if that were gone.
	Crowded bool
}
