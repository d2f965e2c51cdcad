package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/runtime"
)

// Info describes the engine and reads the machine's limits again.
func (r *Runtime) Info(ctx context.Context) (runtime.Info, error) {
	result, err := r.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return runtime.Info{}, fault("ask the engine about itself", err)
	}
	info := runtime.Info{
		Name: "docker", Version: result.Info.ServerVersion,
		CPUs: float64(result.Info.NCPU), MemoryBytes: result.Info.MemTotal,
	}
	for _, warning := range result.Info.Warnings {
		info.Warnings = append(info.Warnings, strings.TrimPrefix(warning, "WARNING: "))
	}
	info.Warnings = append(info.Warnings, limitWarnings(r.readLimits())...)
	if _, local := r.local(); local {
		info.Warnings = append(info.Warnings, diskWarnings(result.Info.DockerRootDir)...)
	}
	return info, nil
}

// scarceMiB is the free room below which the engine's disk is called full.
const scarceMiB = 256

// diskWarnings doesn't say how much is free: a warning that changes all the time would be reported all the time.
func diskWarnings(folder string) []string {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) != nil || disk.Bavail*uint64(disk.Bsize) >= scarceMiB<<20 {
		return nil
	}
	return []string{fmt.Sprintf("the disk of %s has less than %d MiB free: new containers and images may fail with DiskFull; free space on it", folder, scarceMiB)}
}

func limitWarnings(limits hardLimits) []string {
	var warnings []string
	for _, name := range []string{"nofile", "nproc"} {
		if got := limits.clamp(name, defaultUlimits[name]); got < defaultUlimits[name] {
			warnings = append(warnings, fmt.Sprintf("the hard limit of %s is %d: containers get that instead of %d", name, got, defaultUlimits[name]))
		}
	}
	return warnings
}
