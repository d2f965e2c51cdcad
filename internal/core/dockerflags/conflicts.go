package dockerflags

import (
	"maps"
	"slices"

	"tend.dev/tend/api"
)

// Conflicts returns an error for each flag that repeats or contradicts a field of the spec. Nothing defines which of
// the two would win, so the flag must go.
func Conflicts(spec api.DeploymentSpec, o Options) []error {
	limits := api.ResourceLimits{}
	if spec.Resources != nil && spec.Resources.Limits != nil {
		limits = *spec.Resources.Limits
	}
	ownNetwork := spec.Network != "" || len(spec.Networks) > 0 || spec.NetworkMode != "" && spec.NetworkMode != "bridge"
	both := []struct {
		flag, field    string
		given, written bool
	}{
		{"--entrypoint", "entrypoint", o.Entrypoint != nil, len(spec.Entrypoint) > 0},
		{"--user", "user", o.User != "", spec.User != ""},
		{"--workdir", "working_dir", o.WorkingDir != "", spec.WorkingDir != ""},
		{"--hostname", "hostname", o.Hostname != "", spec.Hostname != ""},
		{"--stop-signal", "stop_signal", o.StopSignal != "", spec.StopSignal != ""},
		{"--stop-timeout", "stop_grace_period", o.StopTimeout != nil, spec.StopGracePeriod != ""},
		{"--shm-size", "shm_size", o.ShmSize != 0, spec.ShmSize != ""},
		{"--cpus", "resources.limits.cpu", o.NanoCPUs != 0, limits.CPU != ""},
		{"--cpu-quota", "resources.limits.cpu", o.CPUQuota != 0 || o.CPUPeriod != 0, limits.CPU != ""},
		{"--memory", "resources.limits.memory", o.Memory != 0, limits.Memory != ""},
		{"--network", "network, networks and network_mode", o.NetworkMode != "" || len(o.Networks) > 0, ownNetwork},
		{"--log-driver", "logs", o.LogDriver != "" && o.LogDriver != "json-file", spec.Logs != nil},
	}
	var found []error
	for _, b := range both {
		if b.given && b.written {
			found = append(found, &FlagError{Flag: b.flag, Detail: "says again what " + b.field + " says; keep one of them"})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Env)) {
		if _, written := spec.Env[key]; written {
			found = append(found, &FlagError{Flag: "--env", Detail: key + " is in env too; keep one of them"})
		}
	}
	for _, limit := range o.Ulimits {
		if _, written := spec.Ulimits[limit.Name]; written {
			found = append(found, &FlagError{Flag: "--ulimit", Detail: limit.Name + " is in ulimits too; keep one of them"})
		}
	}
	return found
}
