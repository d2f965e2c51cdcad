package boundary

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// MaxStatus bounds a record of what a node says, in bytes: of a task, an image, its proxy, its network or itself. What
// agents send has a few KiB; some list containers, files or certificates.
const MaxStatus = 256 << 10

// The bounds of what a machine has, beyond which its facts are refused: they decide where pods go.
const (
	maxCPUs   = 4096
	maxMemory = 64 << 40
)

// maxCount bounds how often something happened to a task.
const maxCount = 1 << 30

// Machine reports whether a machine may have as many cores and as much memory as a node says. 0 stands for unknown.
func Machine(status api.NodeStatus) bool {
	return status.CPUs >= 0 && status.CPUs <= maxCPUs && status.MemoryBytes >= 0 && status.MemoryBytes <= maxMemory
}

// Counts returns a report whose tasks were restarted at least never, and no more often than can be counted.
func Counts(report node.Report) node.Report {
	report.Tasks = slices.Clone(report.Tasks)
	for i := range report.Tasks {
		t := &report.Tasks[i]
		for _, count := range []*int{&t.Incarnations, &t.EngineRestarts, &t.PID} {
			*count = min(max(*count, 0), maxCount)
		}
	}
	return report
}
