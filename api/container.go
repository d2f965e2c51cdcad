package api

// Container declares what every kind that runs containers shares. It is embedded in the kinds' specs; its fields stand
// beside theirs in every manifest language.
type Container struct {
	// Image is a reference as `docker pull` takes it. It is resolved once per release; the release pins the result.
	Image string `json:"image,omitempty" hcl:"image,optional"`
	// Command replaces the image's CMD.
	Command []string `json:"command,omitempty" hcl:"command,optional"`
	// Entrypoint replaces the image's ENTRYPOINT.
	Entrypoint []string `json:"entrypoint,omitempty" hcl:"entrypoint,optional"`
	// Env is the container's environment; it wins over every other source.
	Env map[string]string `json:"env,omitempty" hcl:"env,optional"`
	// EnvFile names files the client reads and merges under Env; the server never sees this field.
	EnvFile []string `json:"env_file,omitempty" hcl:"env_file,optional"`
	// SecretFiles are files of the container made from config keys: absolute path → key of the merged buckets. They lie in
	// memory, mode 0400, and belong to the container's user.
	SecretFiles map[string]string `json:"secret_files,omitempty" hcl:"secret_files,optional"`
	// EnvFrom stacks the buckets of other apps under this one's own, last wins. Entries are scope/name or name.
	EnvFrom []string `json:"env_from,omitempty" hcl:"env_from,optional"`
	// User is a name, uid, or uid:gid. Default: the image's.
	User string `json:"user,omitempty" hcl:"user,optional"`
	// WorkingDir is an absolute path. Default: the image's.
	WorkingDir string `json:"working_dir,omitempty" hcl:"working_dir,optional"`
	// Hostname is the name the container sees as its own. The engine makes it a DNS name of the container's networks, so
	// it is <label>.<scope>; an admin may choose any. Default: the container's name.
	Hostname string `json:"hostname,omitempty" hcl:"hostname,optional"`
	// Labels are set on the container; those that begin with "tend." are refused.
	Labels map[string]string `json:"labels,omitempty" hcl:"labels,optional"`
	// StopSignal is sent first when the container is stopped. Default: the image's, else SIGTERM.
	StopSignal string `json:"stop_signal,omitempty" hcl:"stop_signal,optional"`
	// StopGracePeriod is the time between StopSignal and SIGKILL. Default 10s.
	StopGracePeriod Duration `json:"stop_grace_period,omitempty" hcl:"stop_grace_period,optional"`
	// Volumes are source:target[:mode], a source being a host path or a volume's name.
	Volumes []string `json:"volumes,omitempty" hcl:"volumes,optional"`
	// Network is the older spelling of a Networks list with one entry.
	Network string `json:"network,omitempty" hcl:"network,optional"`
	// Networks the container joins. The platform network tend0 is always one of them.
	Networks []string `json:"networks,omitempty" hcl:"networks,optional"`
	// NetworkMode is "host" or "none", which exclude Networks, or "bridge", which means what its absence does.
	NetworkMode string `json:"network_mode,omitempty" hcl:"network_mode,optional"`
	// ExtraHosts are name:ip lines of the container's hosts file; the ip may be host-gateway.
	ExtraHosts []string `json:"extra_hosts,omitempty" hcl:"extra_hosts,optional"`
	// CapAdd are Linux capabilities given beside the engine's own set, such as NET_ADMIN.
	CapAdd []string `json:"cap_add,omitempty" hcl:"cap_add,optional"`
	// CapDrop are Linux capabilities taken away; ALL takes them all.
	CapDrop []string `json:"cap_drop,omitempty" hcl:"cap_drop,optional"`
	// ReadOnly mounts the container's own file system read-only.
	ReadOnly bool `json:"read_only,omitempty" hcl:"read_only,optional"`
	// Tmpfs are paths kept in memory: target, or target:size=64m,noexec.
	Tmpfs []string `json:"tmpfs,omitempty" hcl:"tmpfs,optional"`
	// ShmSize is the size of /dev/shm, with b, k, m or g behind it (powers of 1024). Default: the engine's, 64m.
	ShmSize string `json:"shm_size,omitempty" hcl:"shm_size,optional"`
	// Devices of the host: host, host:container or host:container:permissions (some of rwm).
	Devices []string `json:"devices,omitempty" hcl:"devices,optional"`
	// DNS are the addresses of name servers. Default: the engine's.
	DNS []string `json:"dns,omitempty" hcl:"dns,optional"`
	// SecurityOpt are options such as no-new-privileges; a seccomp profile is given as its JSON.
	SecurityOpt []string `json:"security_opt,omitempty" hcl:"security_opt,optional"`
	// Ulimits are name → soft[:hard]. Declared ones are used as they are; the defaults are clamped to the host's limit.
	Ulimits map[string]string `json:"ulimits,omitempty" hcl:"ulimits,optional"`
	// DockerOptions are flags of `docker run` for what no field covers.
	DockerOptions []string   `json:"docker_options,omitempty" hcl:"docker_options,optional"`
	Resources     *Resources `json:"resources,omitempty" hcl:"resources,block"`
	Logs          *Logs      `json:"logs,omitempty" hcl:"logs,block"`
	Placement     *Placement `json:"placement,omitempty" hcl:"placement,block"`
	DependsOn     *DependsOn `json:"depends_on,omitempty" hcl:"depends_on,block"`
	Build         *Build     `json:"build,omitempty" hcl:"build,block"`
}
