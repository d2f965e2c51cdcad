package placement

import (
	"time"

	"tend.dev/tend/internal/core/ports"
)

// Task is a task to place, or one that was placed and may still hold resources.
type Task struct {
	ID string
	// Name is the pod's name. If it is empty, the ID is shown.
	Name string
	// Workload is what the task belongs to; tasks of one are spread over nodes.
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
	// Runtime is the required runtime; empty takes any.
	Runtime     string
	MemoryBytes int64
	CPUs        float64
	Ports       []ports.Port
	// CreatedAt decides between tasks that want the same: the older one gets it.
	CreatedAt time.Time
}

// Node is a machine tasks may run on.
type Node struct {
	ID string
	// Alive reports whether its agent answers, Ready whether its runtime does; Message says why not.
	Alive       bool
	Ready       bool
	Message     string
	Draining    bool
	Runtime     string
	MemoryBytes int64   // in total; 0 is unknown, and everything fits
	CPUs        float64 // the same
	// FailedImages says by workload why its image is not available on this node.
	FailedImages map[string]string
}

// Assignment puts a task on a node.
type Assignment struct {
	Task, Node string
}

// Refusal says why a task fits on no node.
type Refusal struct {
	Task    string
	Message string
	// Next is the step that helps against what most of the nodes lack.
	Next string
	// Crowded is set if only the task that it replaces is in the way: it would fit if that were gone.
	Crowded bool
}
