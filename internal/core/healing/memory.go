package healing

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/nextstep"
)

// killedMessage says that a container ran out of memory, and at which limit if one is known: it may also be one of the
// engine's options, or of a group of processes around it.
func (p *planner) killedMessage() string {
	if p.MemoryLimit == "" {
		return "the program was killed for lack of memory"
	}
	return "the program was killed at its memory limit of " + p.MemoryLimit
}

// nextStep returns the step that helps against a reason that this package sets; empty if it depends on the program.
func (p *planner) nextStep(reason string) string {
	switch {
	case reason != api.ReasonOOMKilled:
		return ""
	case p.MemoryLimit == "":
		return nextstep.FreeMemory(p.node())
	}
	return nextstep.RaiseMemory
}

// node is the task's node, as messages name it.
func (p *planner) node() string { return "node " + p.Task.Node }
