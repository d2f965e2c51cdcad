package api

import "time"

// Moves are the pods of a workload that a rebalance moves. Key /moves/<kind>/<scope>/<name>; the API writes it. A task
// that has ended is ignored: what replaces it has another id.
type Moves struct {
	// Tasks are the nodes that the tasks go to, by the tasks' ids.
	Tasks map[string]string `json:"tasks"`
	By    string            `json:"by,omitempty"`
	At    time.Time         `json:"at"`
}

// Move is a pod that goes to another node.
type Move struct {
	Object Ref    `json:"object"`
	Pod    string `json:"pod"`
	Task   string `json:"task"`
	From   string `json:"from"`
	To     string `json:"to"`
	Why    string `json:"why"`
}

// RebalanceResult is the plan of a rebalance: in a dry run what would move, else what moves now.
type RebalanceResult struct {
	Moves []Move `json:"moves"`
	// Moving counts the pods that an earlier rebalance moves still.
	Moving   int   `json:"moving,omitempty"`
	Changed  bool  `json:"changed"`
	Revision int64 `json:"revision"`
}
