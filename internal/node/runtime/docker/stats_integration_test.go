//go:build integration

package docker_test

import (
	"encoding/json"
	"testing"

	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
)

// TestStatsAreWhatTheEngineSays: the figures equal the engine's own, whether read from the machine's control groups or
// not.
func TestStatsAreWhatTheEngineSays(t *testing.T) {
	c := newCluster(t)
	eats := c.start(api.DeploymentSpec{Container: api.Container{
		Resources: &api.Resources{Limits: &api.ResourceLimits{Memory: "64Mi"}},
	}}, "eat", "16")
	moby, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	defer moby.Close()
	eventually(t, "16 MiB are in use", func() bool {
		got, err := c.Stats(t.Context(), eats.ID)
		return err == nil && got.MemoryBytes > 16<<20
	})
	result, err := moby.ContainerStats(t.Context(), eats.ID, client.ContainerStatsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Body.Close()
	var said engine.StatsResponse
	if err := json.NewDecoder(result.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	got, err := c.Stats(t.Context(), eats.ID)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(got.CPUTime) < said.CPUStats.CPUUsage.TotalUsage || got.MemoryLimit != int64(said.MemoryStats.Limit) ||
		got.MemoryLimit != 64<<20 {
		t.Errorf("CPU time %d, limit %d; the engine says %d and %d", got.CPUTime, got.MemoryLimit,
			said.CPUStats.CPUUsage.TotalUsage, said.MemoryStats.Limit)
	}
	if got.NetRx < int64(said.Networks["eth0"].RxBytes) || got.PIDs < 1 ||
		got.MemoryBytes > int64(said.MemoryStats.Usage)+4<<20 {
		t.Errorf("stats %+v; the engine says %+v and %+v", got, said.Networks, said.MemoryStats)
	}
}
