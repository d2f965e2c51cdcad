package docker

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

const maxStatsBytes = 1 << 20

// Stats samples a container: by its control group if that is on this machine, else by a call to the engine.
func (r *Runtime) Stats(ctx context.Context, id string) (runtime.Stats, error) {
	id, err := r.own(ctx, id)
	if err != nil {
		return runtime.Stats{}, err
	}
	if _, local := r.local(); local {
		if stats, err := localCgroups.read(id); err == nil && stats.PIDs > 0 {
			return stats, nil // for any other outcome the engine has the words
		}
	}
	failed := func(err error) error { return r.containerFault("stats of", id, err) }
	result, err := r.client.ContainerStats(ctx, id, client.ContainerStatsOptions{})
	if err != nil {
		defer r.forget(err, id)
		return runtime.Stats{}, failed(err)
	}
	defer result.Body.Close()
	var response container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(result.Body, maxStatsBytes)).Decode(&response); err != nil {
		return runtime.Stats{}, failed(err)
	}
	if response.PidsStats.Current == 0 && response.CPUStats.CPUUsage.TotalUsage == 0 {
		return runtime.Stats{}, &runtime.RejectedError{Reason: "NotRunning", Detail: "the container " + r.nameOf(id) + " is not running",
			Next: "tend get pods shows its state"}
	}
	return readStats(response), nil
}

func readStats(from container.StatsResponse) runtime.Stats {
	stats := runtime.Stats{
		CPUTime:     time.Duration(from.CPUStats.CPUUsage.TotalUsage),
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

// usedMemory leaves out the page cache that the kernel reclaims first. Its name differs in each cgroup version.
func usedMemory(from container.MemoryStats) int64 {
	cache, v1 := from.Stats["total_inactive_file"]
	if !v1 {
		cache = from.Stats["inactive_file"]
	}
	return int64(from.Usage - min(cache, from.Usage))
}
