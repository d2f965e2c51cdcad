package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Info describes the engine and reads the machine's limits again.
func (r *Runtime) Info(ctx context.Context) (runtime.Info, error) {
	result, err := r.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return runtime.Info{}, r.fault("ask the engine about itself", err)
	}
	info := runtime.Info{
		Name: api.RuntimeDocker, Version: result.Info.ServerVersion, ID: result.Info.ID,
		CPUs: float64(result.Info.NCPU), MemoryBytes: result.Info.MemTotal,
	}
	for _, warning := range result.Info.Warnings {
		info.Warnings = append(info.Warnings, strings.TrimPrefix(warning, "WARNING: "))
	}
	if names := r.undescribed.Load(); names != nil {
		info.Quarantined = *names
	}
	info.Warnings = append(info.Warnings, limitWarnings(r.readLimits())...)
	if _, local := r.local(); local {
		info.DiskPressure = runtime.DiskPressure(result.Info.DockerRootDir)
		info.DiskShort = runtime.DiskShort(result.Info.DockerRootDir)
	}
	return info, nil
}

func limitWarnings(limits hardLimits) []string {
	var warnings []string
	for _, name := range []string{"nofile", "nproc"} {
		if got := limits.clamp(name, defaultUlimits[name]); got < defaultUlimits[name] {
			warnings = append(warnings, fmt.Sprintf("the hard limit of %s is %d: containers get that instead of %d", name, got,
				defaultUlimits[name]))
		}
	}
	return warnings
}
