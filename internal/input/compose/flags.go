package compose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

// option is a flag of docker run, with the key of the file that it comes from.
type option struct{ flag, at string }

func (u *unit) flags() []string {
	var out []string
	for _, o := range u.options {
		out = append(out, o.flag)
	}
	return out
}

// dropConflicting removes the flags that repeat a field, and reports each. It returns false if no single flag
// conflicts.
func (u *unit) dropConflicting(c *converter, fields map[string]any) bool {
	whole, _ := json.Marshal(fields)                           // it was read from JSON
	spec, err := api.DecodeWorkload(api.KindDeployment, whole) // these fields are the same in every kind
	if err != nil {
		return false
	}
	var kept []option
	for _, o := range u.options {
		parsed, err := dockerflags.Parse([]string{o.flag})
		conflicts := dockerflags.Conflicts(spec.DeploymentSpec, parsed)
		if err == nil && len(conflicts) > 0 {
			err = conflicts[0]
		}
		if err == nil {
			kept = append(kept, o)
			continue
		}
		c.report.lost(o.at, Changes, "%s", err)
	}
	dropped := len(kept) < len(u.options)
	u.options = kept
	fields["docker_options"] = u.flags()
	if len(kept) == 0 {
		delete(fields, "docker_options")
	}
	return dropped
}

// flag adds a flag of docker run, or reports that docker_options doesn't accept it.
func (u *unit) flag(c *converter, at, flag string) {
	if _, err := dockerflags.Parse([]string{flag}); err != nil {
		c.report.lost(at, Changes, "%s", err)
		return
	}
	c.report.carry(at)
	u.options = append(u.options, option{flag, at})
}

// flags converts the keys that only docker_options can express. A key counts as converted once there is a flag for it.
func (c *converter) flags(u *unit) {
	text := func(key, flag, value string) {
		c.report.carry(u.at + "." + key)
		if value != "" {
			u.flag(c, u.at+"."+key, "--"+flag+"="+value)
		}
	}
	truth := func(key, flag string, set bool) { text(key, flag, map[bool]string{true: "true"}[set]) }
	number := func(key, flag string, n int64) {
		if n == 0 {
			text(key, flag, "")
		} else {
			text(key, flag, strconv.FormatInt(n, 10))
		}
	}
	truth("privileged", "privileged", u.Privileged)
	truth("tty", "tty", u.Tty)
	truth("stdin_open", "interactive", u.StdinOpen)
	truth("init", "init", u.Init != nil && *u.Init)
	truth("oom_kill_disable", "oom-kill-disable", u.OomKillDisable)
	c.shares(u, "pid", "its processes", u.Pid)
	c.shares(u, "ipc", "its shared memory", u.Ipc)
	text("uts", "uts", u.Uts)
	text("userns_mode", "userns", u.UserNSMode)
	text("cgroup", "cgroupns", u.Cgroup)
	text("cgroup_parent", "cgroup-parent", u.CgroupParent)
	text("platform", "platform", u.Platform)
	text("runtime", "runtime", u.Runtime)
	text("isolation", "isolation", u.Isolation)
	text("domainname", "domainname", u.DomainName)
	text("mac_address", "mac-address", u.MacAddress)
	text("cpuset", "cpuset-cpus", u.CPUSet)
	number("cpu_shares", "cpu-shares", u.CPUShares)
	number("cpu_period", "cpu-period", u.CPUPeriod)
	number("cpu_quota", "cpu-quota", u.CPUQuota)
	number("cpu_rt_period", "cpu-rt-period", u.CPURTPeriod)
	number("cpu_rt_runtime", "cpu-rt-runtime", u.CPURTRuntime)
	number("mem_reservation", "memory-reservation", int64(u.MemReservation))
	number("memswap_limit", "memory-swap", int64(u.MemSwapLimit))
	number("mem_swappiness", "memory-swappiness", int64(u.MemSwappiness))
	if u.MemSwappiness == 0 {
		c.report.lostIfWritten(u.at+".mem_swappiness", Changes, `write docker_options = ["--memory-swappiness=0"]`)
	}
	number("oom_score_adj", "oom-score-adj", u.OomScoreAdj)
	number("pids_limit", "pids-limit", u.PidsLimit)
	c.flagLists(u)
	c.blockIO(u)
}

// shares converts a namespace that a container may have in common with the machine or another container.
func (c *converter) shares(u *unit, key, what, value string) {
	at := u.at + "." + key
	switch kind, of, _ := strings.Cut(value, ":"); {
	case value == "":
		c.report.carry(at)
	case kind == "service":
		c.report.lost(at, Breaks, "it shared %s with %s, and no two pods do; put both programs into one image", what, of)
	case kind == "container":
		c.report.differs(at, "it shares %s with the container %s, which is not part of the manifests", what, of)
		u.flag(c, at, "--"+key+"="+value)
	default:
		u.flag(c, at, "--"+key+"="+value)
	}
}

func (c *converter) flagLists(u *unit) {
	list := func(key, flag string, values []string) {
		c.report.carryAll(u.at + "." + key)
		for _, value := range values {
			u.flag(c, u.at+"."+key, "--"+flag+"="+value)
		}
	}
	pairs := func(key, flag string, values map[string]string) {
		var entries []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			entries = append(entries, name+"="+values[name])
		}
		list(key, flag, entries)
	}
	list("group_add", "group-add", u.GroupAdd)
	list("dns_search", "dns-search", u.DNSSearch)
	list("dns_opt", "dns-option", u.DNSOpts)
	list("device_cgroup_rules", "device-cgroup-rule", u.DeviceCgroupRules)
	pairs("sysctls", "sysctl", u.Sysctls)
	pairs("storage_opt", "storage-opt", u.StorageOpt)
}

func (c *converter) blockIO(u *unit) {
	b := u.BlkioConfig
	if b == nil {
		return
	}
	at := u.at + ".blkio_config"
	for _, key := range []string{"weight_device", "device_read_bps", "device_write_bps", "device_read_iops",
		"device_write_iops"} {
		c.report.carryAll(at + "." + key)
	}
	if b.Weight > 0 {
		u.flag(c, at+".weight", fmt.Sprintf("--blkio-weight=%d", b.Weight))
	}
	for _, w := range b.WeightDevice {
		u.flag(c, at+".weight_device", fmt.Sprintf("--blkio-weight-device=%s:%d", w.Path, w.Weight))
	}
	for _, rates := range []struct {
		key, flag string
		devices   []types.ThrottleDevice
	}{
		{"device_read_bps", "device-read-bps", b.DeviceReadBps}, {"device_write_bps", "device-write-bps", b.DeviceWriteBps},
		{"device_read_iops", "device-read-iops", b.DeviceReadIOps},
		{"device_write_iops", "device-write-iops", b.DeviceWriteIOps},
	} {
		for _, d := range rates.devices {
			u.flag(c, at+"."+rates.key, fmt.Sprintf("--%s=%s:%d", rates.flag, d.Path, d.Rate))
		}
	}
}
