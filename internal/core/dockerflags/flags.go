package dockerflags

// definition is one row of the table: a flag of docker run and the effect of its value on Options.
type definition struct {
	name    string
	short   string
	boolean bool // takes no value unless it is written --flag=value
	apply   func(o *Options, value string) error
}

// table holds every flag of docker run as of 20.10, including hidden aliases, grouped by what it affects.
var table = concat(processFlags, identityFlags, networkFlags, storageFlags, deviceFlags, limitFlags, isolationFlags,
	logFlags, refusedFlags)

var processFlags = []definition{
	{name: "entrypoint", apply: func(o *Options, v string) error { o.Entrypoint = &v; return nil }},
	{name: "env", short: "e", apply: addEnv},
	{name: "user", short: "u", apply: text(func(o *Options) *string { return &o.User })},
	{name: "group-add", apply: list(func(o *Options) *[]string { return &o.GroupAdd })},
	{name: "workdir", short: "w", apply: absolute(func(o *Options) *string { return &o.WorkingDir })},
	{name: "interactive", short: "i", boolean: true, apply: truth(func(o *Options) *bool { return &o.Interactive })},
	{name: "tty", short: "t", boolean: true, apply: truth(func(o *Options) *bool { return &o.TTY })},
	{name: "init", boolean: true, apply: func(o *Options, v string) error { return setTruth(pointer(&o.Init), v) }},
	{name: "stop-signal", apply: text(func(o *Options) *string { return &o.StopSignal })},
	{name: "stop-timeout", apply: integer(func(o *Options) *int { return pointer(&o.StopTimeout) }, -1, 1<<31-1)},
	{name: "health-cmd", apply: text(func(o *Options) *string { return &pointer(&o.Health).Command })},
	{name: "health-interval", apply: duration(func(h *Health) *durationOf { return &h.Interval })},
	{name: "health-timeout", apply: duration(func(h *Health) *durationOf { return &h.Timeout })},
	{name: "health-start-period", apply: duration(func(h *Health) *durationOf { return &h.StartPeriod })},
	{name: "health-retries", apply: integer(func(o *Options) *int { return &pointer(&o.Health).Retries }, 0, 1<<31-1)},
	{name: "no-healthcheck", boolean: true, apply: truth(func(o *Options) *bool { return &pointer(&o.Health).Disabled })},
}

var identityFlags = []definition{
	{name: "hostname", short: "h", apply: text(func(o *Options) *string { return &o.Hostname })},
	{name: "domainname", apply: text(func(o *Options) *string { return &o.Domainname })},
	{name: "label", short: "l", apply: addLabel},
	{name: "platform", apply: text(func(o *Options) *string { return &o.Platform })},
	{name: "runtime", apply: text(func(o *Options) *string { return &o.Runtime })},
}

var networkFlags = []definition{
	{name: "publish", short: "p", apply: addPublish},
	{name: "publish-all", short: "P", boolean: true, apply: truth(func(o *Options) *bool { return &o.PublishAll })},
	{name: "expose", apply: addExpose},
	{name: "network", apply: addNetwork},
	{name: "net", apply: addNetwork},
	{name: "network-alias", apply: list(func(o *Options) *[]string { return &o.NetworkAliases })},
	{name: "net-alias", apply: list(func(o *Options) *[]string { return &o.NetworkAliases })},
	{name: "ip", apply: address(func(o *Options) *string { return &o.IPv4 }, 4)},
	{name: "ip6", apply: address(func(o *Options) *string { return &o.IPv6 }, 6)},
	{name: "link-local-ip", apply: addresses(func(o *Options) *[]string { return &o.LinkLocalIPs })},
	{name: "mac-address", apply: setMAC},
	{name: "link", apply: list(func(o *Options) *[]string { return &o.Links })},
	{name: "add-host", apply: addHost},
	{name: "dns", apply: addresses(func(o *Options) *[]string { return &o.DNS })},
	{name: "dns-option", apply: list(func(o *Options) *[]string { return &o.DNSOptions })},
	{name: "dns-opt", apply: list(func(o *Options) *[]string { return &o.DNSOptions })},
	{name: "dns-search", apply: list(func(o *Options) *[]string { return &o.DNSSearch })},
}

var storageFlags = []definition{
	{name: "volume", short: "v", apply: addVolume},
	{name: "mount", apply: addMount},
	{name: "tmpfs", apply: addTmpfs},
	{name: "volume-driver", apply: text(func(o *Options) *string { return &o.VolumeDriver })},
	{name: "volumes-from", apply: list(func(o *Options) *[]string { return &o.VolumesFrom })},
	{name: "storage-opt", apply: pairs(func(o *Options) *map[string]string { return &o.StorageOpts })},
	{name: "read-only", boolean: true, apply: truth(func(o *Options) *bool { return &o.ReadOnly })},
	{name: "shm-size", apply: size(func(o *Options) *int64 { return &o.ShmSize })},
}

var deviceFlags = []definition{
	{name: "device", apply: addDevice},
	{name: "device-cgroup-rule", apply: addCgroupRule},
	{name: "gpus", apply: addGPUs},
	{name: "blkio-weight-device", apply: addWeight},
	{name: "device-read-bps", apply: rate(func(o *Options) *[]DeviceRate { return &o.DeviceReadBps }, bytesPerSecond)},
	{name: "device-write-bps", apply: rate(func(o *Options) *[]DeviceRate { return &o.DeviceWriteBps }, bytesPerSecond)},
	{name: "device-read-iops", apply: rate(func(o *Options) *[]DeviceRate { return &o.DeviceReadIOps }, timesPerSecond)},
	{name: "device-write-iops", apply: rate(func(o *Options) *[]DeviceRate { return &o.DeviceWriteIOps }, timesPerSecond)},
}

var limitFlags = []definition{
	{name: "cpus", apply: setCPUs},
	{name: "cpu-shares", short: "c", apply: integer(func(o *Options) *int64 { return &o.CPUShares }, 0, 1<<31)},
	{name: "cpu-period", apply: integer(func(o *Options) *int64 { return &o.CPUPeriod }, 0, 1e6)},
	{name: "cpu-quota", apply: integer(func(o *Options) *int64 { return &o.CPUQuota }, -1, 1<<40)},
	{name: "cpu-rt-period", apply: integer(func(o *Options) *int64 { return &o.CPURealtimePeriod }, 0, 1<<40)},
	{name: "cpu-rt-runtime", apply: integer(func(o *Options) *int64 { return &o.CPURealtimeRuntime }, 0, 1<<40)},
	{name: "cpuset-cpus", apply: cpuset(func(o *Options) *string { return &o.CpusetCPUs })},
	{name: "cpuset-mems", apply: cpuset(func(o *Options) *string { return &o.CpusetMems })},
	{name: "memory", short: "m", apply: size(func(o *Options) *int64 { return &o.Memory })},
	{name: "memory-reservation", apply: size(func(o *Options) *int64 { return &o.MemoryReservation })},
	{name: "memory-swap", apply: sizeOrUnlimited(func(o *Options) *int64 { return &o.MemorySwap })},
	{name: "memory-swappiness", apply: integer(func(o *Options) *int64 { return pointer(&o.MemorySwappiness) }, -1, 100)},
	{name: "kernel-memory", apply: size(func(o *Options) *int64 { return &o.KernelMemory })},
	{name: "pids-limit", apply: integer(func(o *Options) *int64 { return pointer(&o.PidsLimit) }, -1, 1<<31)},
	{name: "oom-kill-disable", boolean: true, apply: truth(func(o *Options) *bool { return &o.OOMKillDisable })},
	{name: "oom-score-adj", apply: integer(func(o *Options) *int { return &o.OOMScoreAdj }, -1000, 1000)},
	{name: "ulimit", apply: addUlimit},
	{name: "blkio-weight", apply: setBlkioWeight},
}

var isolationFlags = []definition{
	{name: "privileged", boolean: true, apply: truth(func(o *Options) *bool { return &o.Privileged })},
	{name: "cap-add", apply: list(func(o *Options) *[]string { return &o.CapAdd })},
	{name: "cap-drop", apply: list(func(o *Options) *[]string { return &o.CapDrop })},
	{name: "security-opt", apply: addSecurityOpt},
	{name: "sysctl", apply: pairs(func(o *Options) *map[string]string { return &o.Sysctls })},
	{name: "cgroup-parent", apply: text(func(o *Options) *string { return &o.CgroupParent })},
	{name: "cgroupns", apply: oneOf(func(o *Options) *string { return &o.CgroupNamespace }, "host", "private")},
	{name: "ipc", apply: namespace(func(o *Options) *string { return &o.IPC }, "none", "private", "shareable", "host")},
	{name: "pid", apply: namespace(func(o *Options) *string { return &o.PID }, "host")},
	{name: "uts", apply: oneOf(func(o *Options) *string { return &o.UTS }, "host")},
	{name: "userns", apply: oneOf(func(o *Options) *string { return &o.UserNamespace }, "host")},
	{name: "isolation", apply: oneOf(func(o *Options) *string { return &o.Isolation }, "default")},
}

var logFlags = []definition{
	{name: "log-driver", apply: text(func(o *Options) *string { return &o.LogDriver })},
	{name: "log-opt", apply: pairs(func(o *Options) *map[string]string { return &o.LogOpts })},
}

func concat(groups ...[]definition) []definition {
	var all []definition
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}
