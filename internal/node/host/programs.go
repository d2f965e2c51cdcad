package host

import (
	"fmt"
	"os/exec"
)

// Program is a program of the machine that a feature of Tend needs.
type Program struct {
	// Name is the command, Package the package that installs it.
	Name, Package string
	// Off is the feature that doesn't work without the program.
	Off string
}

// networkPrograms lists the programs that a machine with a container network needs.
var networkPrograms = []Program{
	{"nft", "nftables", "a network's policy, which keeps scopes apart"},
	{"iptables", "iptables", "the rules by which a network between nodes passes the container engine's own"},
}

// missing returns a line for each program that the machine lacks: the feature that is off, and how to install the
// program.
func missing(programs []Program) (out []string) {
	for _, p := range programs {
		if _, err := exec.LookPath(p.Name); err != nil {
			out = append(out, fmt.Sprintf("%s is missing, so %s is off: install %s", p.Name, p.Off, p.Package))
		}
	}
	return out
}

// missingPrograms returns what the machine lacks now. A program that is installed later is used without a restart.
func (h *Host) missingPrograms() []string {
	programs := h.Programs
	if h.policy != nil {
		programs = append(programs[:len(programs):len(programs)], networkPrograms...)
	}
	return missing(programs)
}

// reportPrograms logs, once per start, the features that are off because the machine lacks a program.
func (h *Host) reportPrograms() {
	for _, line := range h.missingPrograms() {
		h.Logger.Warn("a feature is off on this machine, which lacks a program", "reason", line)
	}
}
