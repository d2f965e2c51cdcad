package api

import "time"

// Defaults of a deployment, applied when a value is read.
const (
	DefaultReplicas        = 1
	DefaultRestart         = "unless-stopped"
	DefaultStopGracePeriod = 10 * time.Second
	DefaultKeepReleases    = 5
	DefaultLogMaxSize      = "10m"
	DefaultLogMaxFiles     = 3
)

// DeploymentSpec declares a long-running workload of interchangeable replicas.
//
// A field's json name is its name in every manifest language; a field tagged `block` is a block in HCL and an object in
// YAML and JSON. Each field that reaches the container is part of the spec hash: a change rolls the slots. The fields
// that are not are listed in internal/core/spechash, which refuses a field that did not choose.
type DeploymentSpec struct {
	// Image is a reference as `docker pull` takes it. It is resolved once per release; the release pins the result.
	Image string `json:"image,omitempty" hcl:"image,optional"`
	// Replicas is how many slots are wanted. Default 1; 0 stops them all.
	Replicas *int `json:"replicas,omitempty" hcl:"replicas,optional"`
	// Command replaces the image's CMD.
	Command []string `json:"command,omitempty" hcl:"command,optional"`
	// Entrypoint replaces the image's ENTRYPOINT.
	Entrypoint []string `json:"entrypoint,omitempty" hcl:"entrypoint,optional"`
	// Env is the container's environment; it wins over every other source.
	Env map[string]string `json:"env,omitempty" hcl:"env,optional"`
	// EnvFile names files the client reads and merges under Env; the server never sees this field.
	EnvFile []string `json:"env_file,omitempty" hcl:"env_file,optional"`
	// EnvFrom stacks the buckets of other apps under this one's own, last wins. Entries are scope/name or name.
	EnvFrom []string `json:"env_from,omitempty" hcl:"env_from,optional"`
	// User is a name, uid, or uid:gid. Default: the image's.
	User string `json:"user,omitempty" hcl:"user,optional"`
	// WorkingDir is an absolute path. Default: the image's.
	WorkingDir string `json:"working_dir,omitempty" hcl:"working_dir,optional"`
	// Hostname is the name the container sees as its own. Default: the container's name.
	Hostname string `json:"hostname,omitempty" hcl:"hostname,optional"`
	// Labels are set on the container; those that begin with "tend." are refused.
	Labels map[string]string `json:"labels,omitempty" hcl:"labels,optional"`
	// StopSignal is sent first when the container is stopped. Default: the image's, else SIGTERM.
	StopSignal string `json:"stop_signal,omitempty" hcl:"stop_signal,optional"`
	// StopGracePeriod is how long the container has between StopSignal and SIGKILL. Default 10s.
	StopGracePeriod Duration `json:"stop_grace_period,omitempty" hcl:"stop_grace_period,optional"`
	// Ports are published as docker writes them; without an address they are bound to 127.0.0.1.
	Ports []string `json:"ports,omitempty" hcl:"ports,optional"`
	// Volumes are source:target[:mode], a source being a host path or a volume's name.
	Volumes []string `json:"volumes,omitempty" hcl:"volumes,optional"`
	// Network is the older spelling of a Networks list with one entry.
	Network string `json:"network,omitempty" hcl:"network,optional"`
	// Networks the container joins. The platform network tend0 is always one of them.
	Networks []string `json:"networks,omitempty" hcl:"networks,optional"`
	// NetworkMode is "host" or "none", and excludes Networks.
	NetworkMode string `json:"network_mode,omitempty" hcl:"network_mode,optional"`
	// Restart is the engine's restart policy: no, always, unless-stopped, on-failure[:N]. Default unless-stopped.
	Restart string `json:"restart,omitempty" hcl:"restart,optional"`
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
	DockerOptions []string `json:"docker_options,omitempty" hcl:"docker_options,optional"`
	// HealthCheck is the path the ingress looks at. Default "/".
	HealthCheck string `json:"health_check,omitempty" hcl:"health_check,optional"`
	// PostDeploy are host commands run after a build was rolled out.
	PostDeploy []string `json:"post_deploy,omitempty" hcl:"post_deploy,optional"`
	// KeepReleases is how many releases stay for rollback. Default 5, at least 1.
	KeepReleases *int `json:"keep_releases,omitempty" hcl:"keep_releases,optional"`

	Resources *Resources    `json:"resources,omitempty" hcl:"resources,block"`
	Logs      *Logs         `json:"logs,omitempty" hcl:"logs,block"`
	Strategy  *Strategy     `json:"strategy,omitempty" hcl:"strategy,block"`
	DependsOn *DependsOn    `json:"depends_on,omitempty" hcl:"depends_on,block"`
	Build     *Build        `json:"build,omitempty" hcl:"build,block"`
	Release   *ReleaseHooks `json:"release,omitempty" hcl:"release,block"`
	Autoscale *Autoscale    `json:"autoscale,omitempty" hcl:"autoscale,block"`
	Probes    *Probes       `json:"probes,omitempty" hcl:"probes,block"`
	OnDeploy  *DeployHooks  `json:"on_deploy,omitempty" hcl:"on_deploy,block"`
	OnProbe   *ProbeHooks   `json:"on_probe,omitempty" hcl:"on_probe,block"`
	Inits     []Init        `json:"inits,omitempty" hcl:"init,block"`
}

// ReplicaCount is Replicas with its default.
func (s DeploymentSpec) ReplicaCount() int {
	if s.Replicas == nil {
		return DefaultReplicas
	}
	return *s.Replicas
}

// KeepReleaseCount is KeepReleases with its default.
func (s DeploymentSpec) KeepReleaseCount() int {
	if s.KeepReleases == nil || *s.KeepReleases < 1 {
		return DefaultKeepReleases
	}
	return *s.KeepReleases
}

// Resources bounds what a container may use.
type Resources struct {
	Limits *ResourceLimits `json:"limits,omitempty" hcl:"limits,block"`
}

// ResourceLimits are frozen into the container's cgroup when it is created.
type ResourceLimits struct {
	// CPU is in cores ("1.5") or thousandths of one ("500m").
	CPU string `json:"cpu,omitempty" hcl:"cpu,optional"`
	// Memory is in bytes, or with a suffix K M G T (powers of 1000) or Ki Mi Gi Ti (powers of 1024).
	Memory string `json:"memory,omitempty" hcl:"memory,optional"`
}

// Logs bounds what a container's log may take on disk (driver json-file, always named).
type Logs struct {
	// MaxSize of one file. Default "10m".
	MaxSize string `json:"max_size,omitempty" hcl:"max_size,optional"`
	// MaxFiles kept in rotation. Default 3.
	MaxFiles *int `json:"max_files,omitempty" hcl:"max_files,optional"`
}

// DependsOn names what must exist first. Asset references are folded into the spec hash.
type DependsOn struct {
	Assets []string `json:"assets,omitempty" hcl:"assets,optional"`
}

// Build declares that the image is made from a source tree.
type Build struct {
	Context    string            `json:"context,omitempty" hcl:"context,optional"`
	Dockerfile string            `json:"dockerfile,omitempty" hcl:"dockerfile,optional"`
	Path       string            `json:"path,omitempty" hcl:"path,optional"`
	Args       map[string]string `json:"args,omitempty" hcl:"args,optional"`
	Lang       *BuildLang        `json:"lang,omitempty" hcl:"lang,block"`
}

// BuildLang overrides what the source tree's language detection found.
type BuildLang struct {
	Name       string `json:"name,omitempty" hcl:"name,optional"`
	Version    string `json:"version,omitempty" hcl:"version,optional"`
	Entrypoint string `json:"entrypoint,omitempty" hcl:"entrypoint,optional"`
}

// ReleaseHooks are commands run once per release, before and after its slots are touched.
type ReleaseHooks struct {
	Command     []string `json:"command,omitempty" hcl:"command,optional"`
	PreCommand  []string `json:"pre_command,omitempty" hcl:"pre_command,optional"`
	PostCommand []string `json:"post_command,omitempty" hcl:"post_command,optional"`
	Timeout     Duration `json:"timeout,omitempty" hcl:"timeout,optional"`
}

// Autoscale lets Tend choose the replica count by CPU use.
type Autoscale struct {
	Min          int      `json:"min,omitempty" hcl:"min,optional"`
	Max          int      `json:"max,omitempty" hcl:"max,optional"`
	CPUTarget    int      `json:"cpu_target,omitempty" hcl:"cpu_target,optional"`
	CooldownUp   Duration `json:"cooldown_up,omitempty" hcl:"cooldown_up,optional"`
	CooldownDown Duration `json:"cooldown_down,omitempty" hcl:"cooldown_down,optional"`
}
