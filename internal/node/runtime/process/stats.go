//go:build linux

package process

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/procfs"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

const ticksPerSecond = 100 // USER_HZ: part of the kernel's interface, the same everywhere Go runs

// Stats implements runtime.Runtime. The network is the host's, so a container's share is unknown. The CPU time of
// processes that ended is added to their parent's, so the sum only falls when the container starts again.
func (r *Runtime) Stats(ctx context.Context, id string) (runtime.Stats, error) {
	dir, record, err := r.find(ctx, id)
	if err != nil {
		return runtime.Stats{}, err
	}
	status, err := shim.ReadStatus(dir)
	if err != nil {
		return runtime.Stats{}, err
	}
	if status.State != runtime.StateRunning {
		return runtime.Stats{}, notRunning(record)
	}
	stats := runtime.Stats{MemoryLimit: record.Program.Memory, At: time.Now()}
	if stats.MemoryLimit == 0 {
		stats.MemoryLimit = totalMemory()
	}
	for _, process := range shim.Descendants(status.Shim.PID) {
		if process.Dead() {
			continue
		}
		stats.PIDs++
		stats.CPUTime += time.Duration(process.Ticks) * (time.Second / ticksPerSecond)
		if proc, err := procfs.NewProc(process.PID); err == nil { // an error means that the process has ended
			memory, _ := proc.Statm()
			blocks, _ := proc.IO() // fails without the rights of the process's user
			stats.MemoryBytes += int64(memory.ResidentBytes())
			stats.BlockRead += int64(blocks.ReadBytes)
			stats.BlockWrite += int64(blocks.WriteBytes)
		}
	}
	return stats, nil
}

func notRunning(record shim.Record) error {
	return &runtime.RejectedError{
		Reason: "NotRunning", Detail: fmt.Sprintf("the container %s is not running", record.Name),
		Next: "tend get pods shows its state",
	}
}
