package fit

import (
	"path"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Unsupported returns the fields of a spec that plain processes can't have, in the order of the manual.
func Unsupported(spec api.DeploymentSpec) (names []string) {
	options := len(spec.DockerOptions) > 0
	for _, init := range spec.Inits {
		options = options || len(init.DockerOptions) > 0
	}
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"hostname", spec.Hostname != ""},
		{"secret_files", len(spec.SecretFiles) > 0},
		{"volumes", !samePlaces(spec.Volumes)},
		{"network", !ours(spec.Network)},
		{"networks", !ours(spec.Networks...)},
		{"network_mode", spec.NetworkMode == "none"},
		{"extra_hosts", len(spec.ExtraHosts) > 0},
		{"cap_add", len(spec.CapAdd) > 0},
		{"cap_drop", len(spec.CapDrop) > 0},
		{"read_only", spec.ReadOnly},
		{"tmpfs", len(spec.Tmpfs) > 0},
		{"shm_size", spec.ShmSize != ""},
		{"devices", len(spec.Devices) > 0},
		{"dns", len(spec.DNS) > 0},
		{"security_opt", len(spec.SecurityOpt) > 0},
		{"docker_options", options},
	} {
		if field.set {
			names = append(names, field.name)
		}
	}
	return names
}

// ours reports whether networks has no network but the platform's: every process is reachable on its host anyway.
func ours(networks ...string) bool {
	return !slices.ContainsFunc(networks, func(name string) bool {
		return name != "" && name != api.Network && name != api.NetworkAlias
	})
}

// samePlaces reports whether every volume is a writable host path mounted at its own path: what a process sees without
// a mount.
func samePlaces(volumes []string) bool {
	for _, volume := range volumes {
		parts := strings.Split(volume, ":")
		if len(parts) < 2 || parts[0] != parts[1] || !path.IsAbs(parts[0]) {
			return false
		}
		if len(parts) > 2 && parts[2] != "rw" {
			return false
		}
	}
	return true
}

// folderOf returns the first image of a spec that only a plain process can run from: an absolute path.
func folderOf(spec api.WorkloadSpec) string {
	if spec.Build == nil && path.IsAbs(spec.Image) {
		return spec.Image
	}
	for _, init := range spec.Inits {
		if path.IsAbs(init.Image) {
			return init.Image
		}
	}
	return ""
}
