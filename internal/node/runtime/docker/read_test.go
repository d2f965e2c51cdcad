package docker

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"

	"tend.dev/tend/internal/node/runtime"
)

// inspected describes, in the words of an engine (20.10), a container that was killed for its memory.
const inspected = `{
	"Id": "0123456789ab", "Name": "/web", "Created": "2026-11-01T10:00:00.5Z", "RestartCount": 2, "Image": "sha256:aa",
	"State": {"Status": "exited", "OOMKilled": true, "Pid": 0, "ExitCode": 137, "Error": "no such device",
		"StartedAt": "2026-11-01T10:00:01Z", "FinishedAt": "2026-11-01T10:00:02Z"},
	"HostConfig": {"RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 3}},
	"Config": {"Labels": {"tend.task": "t1"}}
}`

// TestInspected: no field of the engine's report about a container's life and end is lost.
func TestInspected(t *testing.T) {
	var from container.InspectResponse
	if err := json.Unmarshal([]byte(inspected), &from); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	want := runtime.Container{
		ID: "0123456789ab", Name: "web", Labels: map[string]string{"tend.task": "t1"}, State: runtime.StateExited,
		Restart: "on-failure:3", RestartCount: 2, ExitCode: 137, OOMKilled: true, Error: "no such device",
		ImageID: "sha256:aa", CreatedAt: at.Add(time.Second / 2), StartedAt: at.Add(time.Second),
		FinishedAt: at.Add(2 * time.Second),
	}
	if diff := cmp.Diff(want, (&Runtime{}).read(from)); diff != "" {
		t.Error(diff)
	}
}

// TestDetached: a container is off its network only if it is on none of the names that the network may have had.
func TestDetached(t *testing.T) {
	on := map[string]*network.EndpointSettings{"tend0": {NetworkID: "0123456789abcdef"}}
	for name, c := range map[string]struct {
		reason, mode string
		networks     map[string]*network.EndpointSettings
		want         bool
	}{
		"by name":  {"it is there", "tend0", on, false},
		"by id":    {"the engine lists it by its name", "0123456789abcdef", on, false},
		"short id": {"as people write it", "0123456", on, false},
		"another":  {"it was taken off the one it was made for", "tend1", on, true},
		"none":     {"it was taken off all", "tend0", nil, true},
		"host":     {"it shares the node's", "host", nil, false},
		"no net":   {"it is to have none", "none", nil, false},
	} {
		got := detached(container.InspectResponse{
			HostConfig:      &container.HostConfig{NetworkMode: container.NetworkMode(c.mode)},
			NetworkSettings: &container.NetworkSettings{Networks: c.networks},
		})
		if got != c.want {
			t.Errorf("%s: %s: %v", name, c.reason, got)
		}
	}
}
