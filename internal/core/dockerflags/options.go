package dockerflags

import (
	"time"

	"tend.dev/tend/api"
)

// Options are the parsed flags of one docker_options list. Zero values are flags that were not given; sizes are in
// bytes. Lists are added to those of the spec's own fields; scalars are refused if a field sets the same (Conflicts).
type Options struct {
	// Process.
	Entrypoint  *string           `json:"entrypoint,omitempty"` // "" resets the image's
	Env         map[string]string `json:"env,omitempty"`
	User        string            `json:"user,omitempty"`
	GroupAdd    []string          `json:"group_add,omitempty"`
	WorkingDir  string            `json:"working_dir,omitempty"`
	Interactive bool              `json:"interactive,omitempty"` // keep stdin open
	TTY         bool              `json:"tty,omitempty"`
	Init        *bool             `json:"init,omitempty"`
	StopSignal  string            `json:"stop_signal,omitempty"`
	StopTimeout *int              `json:"stop_timeout,omitempty"` // seconds
	Health      *Health           `json:"health,omitempty"`

	// Identity.
	Hostname   string            `json:"hostname,omitempty"`
	Domainname string            `json:"domainname,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Platform   string            `json:"platform,omitempty"`
	Runtime    string            `json:"runtime,omitempty"`

	// Network.
	Publish    []api.PortSpec `json:"publish,omitempty"` // bound to every address unless one is named, as docker does
	PublishAll bool           `json:"publish_all,omitempty"`
	Expose     []string       `json:"expose,omitempty"` // port/protocol, ranges expanded
	// NetworkMode is a --network that is a mode and not the name of a network: host, none, bridge, default,
	// container:<id>.
	NetworkMode    string    `json:"network_mode,omitempty"`
	Networks       []Network `json:"networks,omitempty"`
	NetworkAliases []string  `json:"network_aliases,omitempty"`
	IPv4           string    `json:"ipv4,omitempty"`
	IPv6           string    `json:"ipv6,omitempty"`
	LinkLocalIPs   []string  `json:"link_local_ips,omitempty"`
	MACAddress     string    `json:"mac_address,omitempty"`
	Links          []string  `json:"links,omitempty"`
	ExtraHosts     []string  `json:"extra_hosts,omitempty"` // name:ip
	DNS            []string  `json:"dns,omitempty"`
	DNSOptions     []string  `json:"dns_options,omitempty"`
	DNSSearch      []string  `json:"dns_search,omitempty"`

	// Storage.
	Binds            []string          `json:"binds,omitempty"`             // source:target[:mode]
	AnonymousVolumes []string          `json:"anonymous_volumes,omitempty"` // a target alone
	Mounts           []Mount           `json:"mounts,omitempty"`
	Tmpfs            map[string]string `json:"tmpfs,omitempty"` // target → options
	VolumeDriver     string            `json:"volume_driver,omitempty"`
	VolumesFrom      []string          `json:"volumes_from,omitempty"`
	StorageOpts      map[string]string `json:"storage_opts,omitempty"`
	ReadOnly         bool              `json:"read_only,omitempty"`
	ShmSize          int64             `json:"shm_size,omitempty"`

	// Devices.
	Devices           []api.Device    `json:"devices,omitempty"`
	DeviceCgroupRules []string        `json:"device_cgroup_rules,omitempty"`
	DeviceRequests    []DeviceRequest `json:"device_requests,omitempty"` // --gpus

	// Limits.
	NanoCPUs           int64          `json:"nano_cpus,omitempty"` // thousand millionths of a core
	CPUShares          int64          `json:"cpu_shares,omitempty"`
	CPUPeriod          int64          `json:"cpu_period,omitempty"`
	CPUQuota           int64          `json:"cpu_quota,omitempty"`
	CPURealtimePeriod  int64          `json:"cpu_rt_period,omitempty"`
	CPURealtimeRuntime int64          `json:"cpu_rt_runtime,omitempty"`
	CpusetCPUs         string         `json:"cpuset_cpus,omitempty"`
	CpusetMems         string         `json:"cpuset_mems,omitempty"`
	Memory             int64          `json:"memory,omitempty"`
	MemoryReservation  int64          `json:"memory_reservation,omitempty"`
	MemorySwap         int64          `json:"memory_swap,omitempty"`       // -1: unlimited
	MemorySwappiness   *int64         `json:"memory_swappiness,omitempty"` // 0 to 100, -1: the kernel's
	KernelMemory       int64          `json:"kernel_memory,omitempty"`
	PidsLimit          *int64         `json:"pids_limit,omitempty"` // -1: unlimited
	OOMKillDisable     bool           `json:"oom_kill_disable,omitempty"`
	OOMScoreAdj        int            `json:"oom_score_adj,omitempty"`
	Ulimits            []Ulimit       `json:"ulimits,omitempty"`
	BlkioWeight        uint16         `json:"blkio_weight,omitempty"`
	BlkioWeightDevice  []DeviceWeight `json:"blkio_weight_device,omitempty"`
	DeviceReadBps      []DeviceRate   `json:"device_read_bps,omitempty"`
	DeviceWriteBps     []DeviceRate   `json:"device_write_bps,omitempty"`
	DeviceReadIOps     []DeviceRate   `json:"device_read_iops,omitempty"`
	DeviceWriteIOps    []DeviceRate   `json:"device_write_iops,omitempty"`

	// Isolation.
	Privileged   bool              `json:"privileged,omitempty"`
	CapAdd       []string          `json:"cap_add,omitempty"`
	CapDrop      []string          `json:"cap_drop,omitempty"`
	SecurityOpts []string          `json:"security_opts,omitempty"`
	Sysctls      map[string]string `json:"sysctls,omitempty"`
	// UnconfinedSystemPaths is --security-opt systempaths=unconfined: no path of /proc and /sys masked or read-only.
	UnconfinedSystemPaths bool   `json:"unconfined_system_paths,omitempty"`
	CgroupParent          string `json:"cgroup_parent,omitempty"`
	CgroupNamespace       string `json:"cgroup_namespace,omitempty"`
	IPC                   string `json:"ipc,omitempty"`
	PID                   string `json:"pid,omitempty"`
	UTS                   string `json:"uts,omitempty"`
	UserNamespace         string `json:"user_namespace,omitempty"`
	Isolation             string `json:"isolation,omitempty"` // default; the others are Windows'

	// Logs.
	LogDriver string            `json:"log_driver,omitempty"`
	LogOpts   map[string]string `json:"log_opts,omitempty"`
}

// Health replaces the image's own health check.
type Health struct {
	// Disabled is --no-healthcheck; nothing else is set then.
	Disabled    bool          `json:"disabled,omitempty"`
	Command     string        `json:"command,omitempty"` // run by the container's shell
	Interval    time.Duration `json:"interval,omitempty"`
	Timeout     time.Duration `json:"timeout,omitempty"`
	StartPeriod time.Duration `json:"start_period,omitempty"`
	Retries     int           `json:"retries,omitempty"`
}

// Network is one --network that names a network.
type Network struct {
	Name       string            `json:"name"`
	Aliases    []string          `json:"aliases,omitempty"`
	DriverOpts map[string]string `json:"driver_opts,omitempty"`
}

// Ulimit is one limit of the container's processes; -1 is unlimited.
type Ulimit struct {
	Name string `json:"name"`
	Soft int64  `json:"soft"`
	Hard int64  `json:"hard"`
}

// DeviceWeight is a share of a block device's time, 10 to 1000.
type DeviceWeight struct {
	Path   string `json:"path"`
	Weight uint16 `json:"weight"`
}

// DeviceRate bounds the use of a block device, in bytes or operations per second.
type DeviceRate struct {
	Path string `json:"path"`
	Rate uint64 `json:"rate"`
}

// DeviceRequest asks a device driver for devices (--gpus). Count -1 is all of them.
type DeviceRequest struct {
	Driver       string            `json:"driver,omitempty"`
	Count        int               `json:"count,omitempty"`
	DeviceIDs    []string          `json:"device_ids,omitempty"`
	Capabilities [][]string        `json:"capabilities,omitempty"`
	Options      map[string]string `json:"options,omitempty"`
}

// Mount is one --mount.
type Mount struct {
	Type     string `json:"type"` // bind, volume, tmpfs, npipe
	Source   string `json:"source,omitempty"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// Consistency is default, consistent, cached or delegated.
	Consistency string `json:"consistency,omitempty"`
	// Bind: rprivate, private, rshared, shared, rslave, slave.
	Propagation  string `json:"propagation,omitempty"`
	NonRecursive bool   `json:"non_recursive,omitempty"`
	// Volume.
	NoCopy        bool              `json:"no_copy,omitempty"`
	VolumeLabels  map[string]string `json:"volume_labels,omitempty"`
	VolumeDriver  string            `json:"volume_driver,omitempty"`
	VolumeOptions map[string]string `json:"volume_options,omitempty"`
	// Tmpfs.
	TmpfsSize int64  `json:"tmpfs_size,omitempty"`
	TmpfsMode uint32 `json:"tmpfs_mode,omitempty"`
}
