package docker

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/runtime"
)

const (
	maxStatsBytes = 1 << 20
	maxSampleAge  = 5 * time.Minute
	maxSamples    = 4096
)

// Stats samples a container. CPU use is the growth between two samples: the one remembered from the last call, so that a
// node's sampling round costs a call each, or for the first one a second that the engine waits for us.
func (r *Runtime) Stats(ctx context.Context, id string) (runtime.Stats, error) {
	id, err := r.own(ctx, id)
	if err != nil {
		return runtime.Stats{}, err
	}
	operation := "stats of container " + short(id)
	previous, remembered := r.samples.last(id)
	result, err := r.client.ContainerStats(ctx, id, client.ContainerStatsOptions{IncludePreviousSample: !remembered})
	if err != nil {
		r.forget(err, id)
		return runtime.Stats{}, fault(operation, err)
	}
	defer result.Body.Close()
	var response container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(result.Body, maxStatsBytes)).Decode(&response); err != nil {
		return runtime.Stats{}, fault(operation, err)
	}
	if response.PidsStats.Current == 0 && response.CPUStats.CPUUsage.TotalUsage == 0 {
		return runtime.Stats{}, &runtime.RejectedError{Reason: "NotRunning", Detail: operation + ": it is not running", Next: "start the container first"}
	}
	current := sample{at: response.Read, cpu: response.CPUStats.CPUUsage.TotalUsage}
	if !remembered {
		previous = sample{at: response.PreRead, cpu: response.PreCPUStats.CPUUsage.TotalUsage}
	}
	r.samples.put(id, current)
	stats := readStats(response)
	stats.CPUPercent = current.percentSince(previous)
	return stats, nil
}

func readStats(from container.StatsResponse) runtime.Stats {
	stats := runtime.Stats{
		MemoryBytes: usedMemory(from.MemoryStats), MemoryLimit: int64(from.MemoryStats.Limit),
		PIDs: int(from.PidsStats.Current), At: from.Read,
	}
	for _, network := range from.Networks {
		stats.NetRx += int64(network.RxBytes)
		stats.NetTx += int64(network.TxBytes)
	}
	for _, entry := range from.BlkioStats.IoServiceBytesRecursive {
		switch entry.Op {
		case "Read", "read":
			stats.BlockRead += int64(entry.Value)
		case "Write", "write":
			stats.BlockWrite += int64(entry.Value)
		}
	}
	return stats
}

// usedMemory leaves out the page cache that the kernel takes back first. Its name is another one in each cgroup version.
func usedMemory(from container.MemoryStats) int64 {
	cache, v1 := from.Stats["total_inactive_file"]
	if !v1 {
		cache = from.Stats["inactive_file"]
	}
	return int64(from.Usage - min(cache, from.Usage))
}

// sample is the CPU time a container had used at a moment, in nanoseconds.
type sample struct {
	at  time.Time
	cpu uint64
}

// percentSince is 100 for one core. A counter that fell is of a container that was restarted in between.
func (s sample) percentSince(previous sample) float64 {
	elapsed := s.at.Sub(previous.at)
	if previous.at.Year() <= 1 || elapsed <= 0 || s.cpu < previous.cpu {
		return 0
	}
	return 100 * float64(s.cpu-previous.cpu) / float64(elapsed)
}

// samples remembers the last sample of each container.
type samples struct {
	mu   sync.Mutex
	byID map[string]sample
}

func newSamples() *samples { return &samples{byID: map[string]sample{}} }

// last is the remembered sample, if it is of use still.
func (s *samples) last(id string) (sample, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byID[id]
	return found, ok && time.Since(found.at) < maxSampleAge
}

func (s *samples) put(id string, current sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= maxSamples {
		clear(s.byID) // containers that went unseen; those that run are sampled anew
	}
	s.byID[id] = current
}

func (s *samples) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}
