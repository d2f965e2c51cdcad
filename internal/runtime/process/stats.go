//go:build linux

package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/process/shim"
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
		stats.MemoryBytes += residentBytes(process.PID)
		read, written := blockBytes(process.PID)
		stats.BlockRead, stats.BlockWrite = stats.BlockRead+read, stats.BlockWrite+written
	}
	return stats, nil
}

func residentBytes(pid int) int64 {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// blockBytes needs the rights of the process's user; without them it returns 0.
func blockBytes(pid int) (read, written int64) {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	for line := range bytes.Lines(raw) {
		name, text, _ := strings.Cut(strings.TrimSpace(string(line)), ": ")
		n, _ := strconv.ParseInt(text, 10, 64)
		switch name {
		case "read_bytes":
			read = n
		case "write_bytes":
			written = n
		}
	}
	return read, written
}

func notRunning(record shim.Record) error {
	return &runtime.RejectedError{
		Reason: "NotRunning", Detail: fmt.Sprintf("container %s is not running", record.Name), Next: "start the container first",
	}
}
