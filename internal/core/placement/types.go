package placement

import (
	"time"

	"tend.dev/tend/api"
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
	Ports       []Port
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
	// Crowded: only the task that it replaces is in the way. It would fit if that were gone.
	Crowded bool
}

// Port is one fixed port of a host.
type Port struct {
	IP       string // empty, 0.0.0.0 and :: are every address
	Number   int
	Protocol string
}

// FixedPorts are the host ports that published ports need and no other container can have. Where the engine chooses,
// even within a range, there are none.
func FixedPorts(specs []api.PortSpec) []Port {
	var out []Port
	for _, spec := range specs {
		if spec.Host.Len() != spec.Container.Len() {
			continue
		}
		for i := range spec.Host.Len() {
			out = append(out, Port{IP: spec.HostIP, Number: spec.Host.First + i, Protocol: spec.Protocol})
		}
	}
	return out
}

// clashes: the two can't be bound at the same time.
func (p Port) clashes(other Port) bool {
	same := p.Number == other.Number && p.protocol() == other.protocol()
	return same && (p.IP == other.IP || p.everywhere() || other.everywhere())
}

func (p Port) everywhere() bool { return p.IP == "" || p.IP == "0.0.0.0" || p.IP == "::" }

func (p Port) protocol() string {
	if p.Protocol == "" {
		return "tcp"
	}
	return p.Protocol
}
