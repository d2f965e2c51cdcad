package docker

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

func (m *mapping) resources() error {
	o, limits := m.options, &m.HostConfig.Resources
	limits.NanoCPUs, limits.Memory = o.NanoCPUs, o.Memory
	if err := m.declaredLimits(); err != nil {
		return err
	}
	limits.CPUShares, limits.CPUPeriod, limits.CPUQuota = o.CPUShares, o.CPUPeriod, o.CPUQuota
	limits.CPURealtimePeriod, limits.CPURealtimeRuntime = o.CPURealtimePeriod, o.CPURealtimeRuntime
	limits.CpusetCpus, limits.CpusetMems = o.CpusetCPUs, o.CpusetMems
	limits.MemoryReservation, limits.MemorySwap, limits.MemorySwappiness = o.MemoryReservation,
		o.MemorySwap, o.MemorySwappiness
	limits.PidsLimit = o.PidsLimit
	if o.OOMKillDisable {
		limits.OomKillDisable = &o.OOMKillDisable
	}
	m.HostConfig.OomScoreAdj = o.OOMScoreAdj
	m.legacy.KernelMemory = o.KernelMemory
	limits.BlkioWeight = o.BlkioWeight
	for _, device := range o.BlkioWeightDevice {
		limits.BlkioWeightDevice = append(limits.BlkioWeightDevice,
			&blkiodev.WeightDevice{Path: device.Path, Weight: device.Weight})
	}
	limits.BlkioDeviceReadBps, limits.BlkioDeviceWriteBps = throttles(o.DeviceReadBps), throttles(o.DeviceWriteBps)
	limits.BlkioDeviceReadIOps, limits.BlkioDeviceWriteIOps = throttles(o.DeviceReadIOps), throttles(o.DeviceWriteIOps)
	return nil
}

func (m *mapping) declaredLimits() error {
	if m.declared.Resources == nil || m.declared.Resources.Limits == nil {
		return nil
	}
	declared := m.declared.Resources.Limits
	if declared.CPU != "" {
		cores, err := api.ParseCPU(declared.CPU)
		if err != nil {
			return invalid("resources.limits.cpu", err)
		}
		m.HostConfig.NanoCPUs = int64(math.Round(cores * 1e9))
	}
	if declared.Memory != "" {
		bytes, err := api.ParseMemory(declared.Memory)
		if err != nil {
			return invalid("resources.limits.memory", err)
		}
		m.HostConfig.Memory = bytes
	}
	return nil
}

func throttles(rates []dockerflags.DeviceRate) []*blkiodev.ThrottleDevice {
	var out []*blkiodev.ThrottleDevice
	for _, rate := range rates {
		out = append(out, &blkiodev.ThrottleDevice{Path: rate.Path, Rate: rate.Rate})
	}
	return out
}

// defaultUlimits are requested for every container; on a machine with lower limits a container gets those.
var defaultUlimits = map[string]int64{"nofile": 65536, "nproc": 4096}

// ulimits applies the defaults clamped to the machine's hard limits, then the declared ones as they are, then the
// flags.
func (m *mapping) ulimits() error {
	limits := map[string]*container.Ulimit{}
	for name, wanted := range defaultUlimits {
		value := m.machine.limits.clamp(name, wanted)
		limits[name] = &container.Ulimit{Name: name, Soft: value, Hard: value}
	}
	for name, text := range m.declared.Ulimits {
		limit, err := parseUlimit(name, text)
		if err != nil {
			return invalid("ulimits", err)
		}
		limits[name] = limit
	}
	for _, limit := range m.options.Ulimits {
		limits[limit.Name] = &container.Ulimit{Name: limit.Name, Soft: limit.Soft, Hard: limit.Hard}
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		m.HostConfig.Ulimits = append(m.HostConfig.Ulimits, limits[name])
	}
	return nil
}

// parseUlimit parses soft[:hard]; -1 and unlimited mean no limit.
func parseUlimit(name, text string) (*container.Ulimit, error) {
	softText, hardText, found := strings.Cut(text, ":")
	if !found {
		hardText = softText
	}
	soft, err := parseLimit(softText)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	hard, err := parseLimit(hardText)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &container.Ulimit{Name: name, Soft: soft, Hard: hard}, nil
}

func parseLimit(text string) (int64, error) {
	if text == "unlimited" {
		return -1, nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < -1 {
		return 0, fmt.Errorf("%q is not a number, -1 or unlimited", text)
	}
	return value, nil
}

func (m *mapping) isolation() error {
	o, host := m.options, m.HostConfig
	host.Privileged = o.Privileged
	host.CapAdd = together(m.declared.CapAdd, o.CapAdd)
	host.CapDrop = together(m.declared.CapDrop, o.CapDrop)
	host.Sysctls, host.CgroupParent = o.Sysctls, o.CgroupParent
	host.CgroupnsMode, host.IpcMode = container.CgroupnsMode(o.CgroupNamespace), container.IpcMode(o.IPC)
	host.PidMode, host.UTSMode = container.PidMode(o.PID), container.UTSMode(o.UTS)
	host.UsernsMode, host.Isolation = container.UsernsMode(o.UserNamespace), container.Isolation(o.Isolation)
	unconfined := o.UnconfinedSystemPaths
	for _, option := range together(m.declared.SecurityOpt, o.SecurityOpts) {
		if option == "systempaths=unconfined" || option == "systempaths:unconfined" {
			unconfined = true // only the docker command knows this word: the engine knows only the two lists
			continue
		}
		host.SecurityOpt = append(host.SecurityOpt, option)
	}
	if unconfined {
		host.MaskedPaths, host.ReadonlyPaths = []string{}, []string{}
	}
	return nil
}
