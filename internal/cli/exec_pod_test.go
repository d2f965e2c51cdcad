package cli

import (
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestChoosePod: a command of a statefulset runs in its lowest ordinal, of another object in its newest ready pod.
func TestChoosePod(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	made := 0
	pod := func(kind api.Kind, slot string, state api.TaskState, ready bool) api.Pod {
		made++
		return api.Pod{Name: fmt.Sprintf("prod-x.%s", slot), Kind: kind, Slot: slot, State: state, Ready: ready,
			Desired: api.DesiredRunning, CreatedAt: at.Add(time.Duration(made) * time.Second)}
	}
	set := func(slot string, state api.TaskState, ready bool) api.Pod {
		return pod(api.KindStatefulSet, slot, state, ready)
	}
	web := func(slot string, state api.TaskState, ready bool) api.Pod {
		return pod(api.KindDeployment, slot, state, ready)
	}
	command := set("99", api.TaskRunning, true)
	command.Role = api.RoleCommand
	stopping := set("0", api.TaskRunning, true)
	stopping.Desired = api.DesiredShutdown
	for name, tc := range map[string]struct {
		reason string
		pods   []api.Pod
		want   string
		of     int
	}{
		"ordinal 0":   {"the newest is ordinal 2", []api.Pod{set("0", api.TaskRunning, true), set("1", api.TaskRunning, true), set("2", api.TaskRunning, true)}, "prod-x.0", 3},
		"not ready":   {"it runs: a person looks why", []api.Pod{set("1", api.TaskRunning, true), set("0", api.TaskRunning, false)}, "prod-x.0", 2},
		"0 is down":   {"the lowest that runs", []api.Pod{set("0", api.TaskFailed, false), set("2", api.TaskRunning, true), set("1", api.TaskRunning, true)}, "prod-x.1", 2},
		"ten":         {"ordinals are numbers", []api.Pod{set("10", api.TaskRunning, true), set("9", api.TaskRunning, true)}, "prod-x.9", 2},
		"release":     {"a release command's pod has no ordinal", []api.Pod{command, set("1", api.TaskRunning, true)}, "prod-x.1", 2},
		"deployment":  {"the newest", []api.Pod{web("5", api.TaskRunning, true), web("7", api.TaskRunning, true)}, "prod-x.7", 2},
		"ready first": {"the newest that is ready", []api.Pod{web("5", api.TaskRunning, true), web("7", api.TaskRunning, false)}, "prod-x.5", 2},
		"none":        {"nothing runs", []api.Pod{set("0", api.TaskStarting, false)}, "", 0},
	} {
		got, of := choosePod(tc.pods)
		if got.Name != tc.want || of != tc.of {
			t.Errorf("%s: %s: %q of %d, want %q of %d", name, tc.reason, got.Name, of, tc.want, tc.of)
		}
	}
	if got, of := choosePod([]api.Pod{stopping, set("3", api.TaskRunning, true)}); got.Name != "prod-x.3" || of != 1 {
		t.Errorf("a pod that stops: %q of %d", got.Name, of)
	}
}
