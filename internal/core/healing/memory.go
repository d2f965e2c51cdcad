package healing

import "tend.dev/tend/api"

// killedMessage says that a container ran out of memory, and at which limit if that is known.
func (p *planner) killedMessage() string {
	if p.MemoryLimit == "" {
		return "killed for want of memory"
	}
	return "killed at its " + p.MemoryLimit + " limit"
}

// nextStep returns the step that helps against a reason that this package sets; empty if it depends on the program.
func (p *planner) nextStep(reason string) string {
	switch {
	case reason != api.ReasonOOMKilled:
		return ""
	case p.MemoryLimit == "":
		return "raise its memory limit, or free memory on the node"
	}
	return "raise resources.limits.memory"
}
