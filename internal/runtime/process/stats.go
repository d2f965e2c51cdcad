//go:build linux

package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/process/shim"
)

const (
	ticksPerSecond = 100 // USER_HZ: part of the kernel's interface, the same everywhere Go runs
	sampleTime     = 100 * time.Millisecond
	// oldSample is too old to say what goes on now.
	oldSample = time.Minute
)

// sampler keeps the last processor times, because a rate needs two.
type sampler struct {
	mu   sync.Mutex
	last map[string]sample
}

type sample struct {
	pid   int
	ticks uint64
	at    time.Time
}

func (s *sampler) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, id)
}

// percent compares with the last sample; without a fit one, ok is false and this becomes the last.
func (s *sampler) percent(id string, now sample) (percent float64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]sample{}
	}
	before, known := s.last[id]
	elapsed := now.at.Sub(before.at)
	if known && before.pid == now.pid && elapsed < oldSample && elapsed < sampleTime/2 {
		return 0, false
	}
	s.last[id] = now
	if !known || before.pid != now.pid || elapsed >= oldSample || now.ticks < before.ticks {
		return 0, false
	}
	return float64(now.ticks-before.ticks) / ticksPerSecond / elapsed.Seconds() * 100, true
}

// Stats implements runtime.Runtime. The network is the host's and can't be told apart.
func (r *Runtime) Stats(ctx context.Context, id string) (runtime.Stats, error) {
	dir, record, err := r.find(ctx, id)
	if err != nil {
		return runtime.Stats{}, err
	}
	for {
		stats, now, err := measure(dir, record)
		if err != nil {
			return runtime.Stats{}, err
		}
		percent, ok := r.used.percent(record.ID, now)
		if ok {
			stats.CPUPercent = percent
			return stats, nil
		}
		if err := pause(ctx, sampleTime); err != nil {
			return runtime.Stats{}, err
		}
	}
}

func measure(dir string, record shim.Record) (runtime.Stats, sample, error) {
	status, err := shim.ReadStatus(dir)
	if err != nil {
		return runtime.Stats{}, sample{}, err
	}
	if status.State != runtime.StateRunning {
		return runtime.Stats{}, sample{}, notRunning(record)
	}
	stats := runtime.Stats{MemoryLimit: record.Program.Memory, At: time.Now()}
	if stats.MemoryLimit == 0 {
		stats.MemoryLimit = totalMemory()
	}
	now := sample{pid: status.PID, at: stats.At}
	for _, process := range shim.Descendants(status.Shim.PID) {
		if process.Dead() {
			continue
		}
		stats.PIDs++
		now.ticks += process.Ticks
		stats.MemoryBytes += residentBytes(process.PID)
		read, written := blockBytes(process.PID)
		stats.BlockRead, stats.BlockWrite = stats.BlockRead+read, stats.BlockWrite+written
	}
	return stats, now, nil
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

// blockBytes needs the rights of the process's user; without them it is 0.
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

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
