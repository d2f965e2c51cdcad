package placement

import (
	"time"

	"tend.dev/tend/internal/core/ports"
)

// Task is a task to place, or one that was placed and may still be in the way.
type Task struct {
	ID string
	// Name is what people call it: the pod's name. Empty shows the ID.
	Name string
	// Workload is what the task belongs to; tasks of one are spread over nodes.
	Workload string
	// Node the task was placed on; empty asks for one.
	Node string
	// Leaving: it is wanted no more. It doesn't count towards spread and load, but holds its ports until it stopped.
	Leaving bool
	// Stopped: no container of it runs, and none will. It is in nobody's way.
	Stopped bool
	// Replaces is the task it takes over from; After the one that must have stopped before it starts. Where After is
	// set, neither's ports are in its way: they will be free by then.
	Replaces string
	After    string
	// Runtime it asks for; empty takes any.
	Runtime     string
	MemoryBytes int64
	CPUs        float64
	Ports       []ports.Port
	// CreatedAt orders tasks that want the same: the older one gets it.
	CreatedAt time.Time
}

// Node is a machine tasks may run on.
type Node struct {
	ID string
	// Alive says whether its agent answers, Ready whether its runtime does; Message why not.
	Alive       bool
	Ready       bool
	Message     string
	Draining    bool
	Runtime     string
	MemoryBytes int64   // in total; 0 is not known, and everything fits
	CPUs        float64 // the same
	// FailedImages says by workload why its image can't be had on this node.
	FailedImages map[string]string
}

// Assignment puts a task on a node.
type Assignment struct {
	Task, Node string
}

// Refusal says why a task fits nowhere.
type Refusal struct {
	Task    string
	Message string
	// Next is the step that helps against what most of the nodes lack.
	Next string
	// Crowded: only the task that it replaces is in the way. It would fit if that were gone.
	Crowded bool
}
