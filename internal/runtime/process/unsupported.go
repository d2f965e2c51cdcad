package process

import (
	"fmt"
	"path/filepath"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// confined refuses what must stay away from the host: a plain process reads and runs whatever its account may.
func confined(does string) error {
	return &runtime.RejectedError{
		Reason: api.ReasonUnsupportedByProcessRuntime,
		Detail: "the process runtime isolates nothing: what a deployer, or a sync that is not trusted, declared never " + does + " there",
		Next:   "run it on a node with Docker; or have it deleted, and an admin apply it",
	}
}

// unsupported refuses a spec with fields that a plain process can't support. The error names all of them at once.
func unsupported(spec runtime.ContainerSpec) error {
	if spec.Confined {
		return confined("runs")
	}
	declared := spec.Spec
	fields := []struct {
		name string
		set  bool
	}{
		{"hostname", declared.Hostname != ""},
		{"secret_files", len(declared.SecretFiles) > 0},
		{"volumes", !samePlaces(declared.Volumes)},
		{"network", !ours(declared.Network)},
		{"networks", !ours(declared.Networks...)},
		{"network_mode", declared.NetworkMode == "none"},
		{"extra_hosts", len(declared.ExtraHosts) > 0},
		{"cap_add", len(declared.CapAdd) > 0},
		{"cap_drop", len(declared.CapDrop) > 0},
		{"read_only", declared.ReadOnly},
		{"tmpfs", len(declared.Tmpfs) > 0},
		{"shm_size", declared.ShmSize != ""},
		{"devices", len(declared.Devices) > 0},
		{"dns", len(declared.DNS) > 0},
		{"security_opt", len(declared.SecurityOpt) > 0},
		{"docker_options", len(declared.DockerOptions) > 0},
	}
	var names []string
	for _, field := range fields {
		if field.set {
			names = append(names, field.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &runtime.RejectedError{
		Reason: api.ReasonUnsupportedByProcessRuntime,
		Detail: fmt.Sprintf("plain processes can't honour %s", strings.Join(names, ", ")),
		Next:   "leave them out, or run on a node with Docker",
	}
}

// ours reports whether networks has no network but the platform's: every process is reachable on this host anyway.
func ours(networks ...string) bool {
	for _, name := range networks {
		if name != "" && name != api.Network && name != api.NetworkAlias {
			return false
		}
	}
	return true
}

// samePlaces reports whether every volume is a writable host path mounted at its own path: what a process sees without
// a mount.
func samePlaces(volumes []string) bool {
	for _, volume := range volumes {
		parts := strings.Split(volume, ":")
		if len(parts) < 2 || parts[0] != parts[1] || !filepath.IsAbs(parts[0]) {
			return false
		}
		if len(parts) > 2 && parts[2] != "rw" {
			return false
		}
	}
	return true
}
