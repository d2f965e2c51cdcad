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
// YAML and JSON. Each field that reaches the container is part of the spec hash: a change rolls the pods. The fields
// that are not are listed in internal/core/spechash, which refuses a field that did not choose.
type DeploymentSpec struct {
	Container
	// Replicas is the number of pods wanted. Default 1; 0 stops them all.
	Replicas *int `json:"replicas,omitempty" hcl:"replicas,optional"`
	// Mode is "replicated", or "global" for one pod on each node that placement allows; then there are no replicas.
	// Default replicated.
	Mode string `json:"mode,omitempty" hcl:"mode,optional"`
	// Ports are published as docker writes them; without an address they are bound to 127.0.0.1.
	Ports []string `json:"ports,omitempty" hcl:"ports,optional"`
	// Aliases are further names by which containers reach the workload: <alias>.<scope>, as <name>.<scope>.
	Aliases []string `json:"aliases,omitempty" hcl:"aliases,optional"`
	// Restart is the engine's restart policy: no, always, unless-stopped, on-failure[:N]. Default unless-stopped.
	Restart string `json:"restart,omitempty" hcl:"restart,optional"`
	// HealthCheck is a path that the workload answers while it can serve; see EffectiveProbes. Default: none.
	HealthCheck string `json:"health_check,omitempty" hcl:"health_check,optional"`
	// PostDeploy are shell commands run one after another once a release was rolled out, each by `sh -c`, in a container
	// of that release. A failure is reported and changes nothing.
	PostDeploy []string `json:"post_deploy,omitempty" hcl:"post_deploy,optional"`
	// KeepReleases is the number of releases kept for rollback. Default 5, at least 1.
	KeepReleases *int          `json:"keep_releases,omitempty" hcl:"keep_releases,optional"`
	Strategy     *Strategy     `json:"strategy,omitempty" hcl:"strategy,block"`
	Release      *ReleaseHooks `json:"release,omitempty" hcl:"release,block"`
	Autoscale    *Autoscale    `json:"autoscale,omitempty" hcl:"autoscale,block"`
	Probes       *Probes       `json:"probes,omitempty" hcl:"probes,block"`
	OnDeploy     *DeployHooks  `json:"on_deploy,omitempty" hcl:"on_deploy,block"`
	OnProbe      *ProbeHooks   `json:"on_probe,omitempty" hcl:"on_probe,block"`
	Inits        []Init        `json:"inits,omitempty" hcl:"init,block"`
}

// ReplicaCount is Replicas with its default, within the bounds of autoscale where it is declared.
func (s DeploymentSpec) ReplicaCount() int {
	count := DefaultReplicas
	if s.Replicas != nil {
		count = *s.Replicas
	}
	if s.Autoscale == nil {
		return count
	}
	low, high := s.Autoscale.Bounds()
	if s.Replicas == nil {
		return low
	}
	return min(max(count, low), high)
}

// MostReplicas returns the most replicas there may be without another apply: the autoscaler's bound, else the count.
func (s DeploymentSpec) MostReplicas() int {
	if s.Autoscale == nil {
		return s.ReplicaCount()
	}
	_, high := s.Autoscale.Bounds()
	return high
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
	// Reservations are kept free for the container on its node. What is reserved on a node never exceeds what it has; a
	// container may use more, up to its limits.
	Reservations *ResourceReservations `json:"reservations,omitempty" hcl:"reservations,block"`
}

// ResourceReservations are units as those of ResourceLimits. Default: nothing is reserved.
type ResourceReservations struct {
	CPU    string `json:"cpu,omitempty" hcl:"cpu,optional"`
	Memory string `json:"memory,omitempty" hcl:"memory,optional"`
}

// The values of DeploymentSpec.Mode.
const (
	ModeReplicated = "replicated"
	ModeGlobal     = "global"
)

// Global reports whether the deployment runs one pod on each node.
func (s DeploymentSpec) Global() bool { return s.Mode == ModeGlobal }

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

// DependsOn names what must be there first.
type DependsOn struct {
	// Assets are name.key (of the same scope) or scope.name.key. Their digests count in the spec hash, so a change of one
	// rolls the pods although no field refers to it.
	Assets []string `json:"assets,omitempty" hcl:"assets,optional"`
	// Workloads are kind/name (of the same scope) or kind/scope/name. The first pod of a release starts once each of
	// them is Ready; what runs already and is healed waits for nothing.
	Workloads []string `json:"workloads,omitempty" hcl:"workloads,optional"`
}
