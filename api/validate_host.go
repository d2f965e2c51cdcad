package api

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// mounts checks that nothing else is mounted at a place.
func (c *checker) mounts(field, target string) {
	target = path.Clean(target)
	if first, twice := c.targets[target]; twice {
		c.add(field, "%s is the target of %s already", target, first)
		return
	}
	if c.targets == nil {
		c.targets = map[string]string{}
	}
	c.targets[target] = field
}

// storage checks what is mounted.
func (c *checker) storage(s DeploymentSpec) {
	for i, entry := range s.Volumes {
		volume, err := parseVolume(entry)
		c.addError(index("volumes", i), err)
		if err == nil {
			c.mounts(index("volumes", i), volume.Target)
		}
	}
	for i, entry := range s.Tmpfs {
		target, _, err := ParseTmpfs(entry)
		c.addError(index("tmpfs", i), err)
		if err == nil {
			c.mounts(index("tmpfs", i), target)
		}
	}
	if s.ShmSize != "" {
		c.size("shm_size", s.ShmSize)
	}
}

// parseVolume is ParseVolume of an entry that may mount a file of an asset.
func parseVolume(entry string) (Volume, error) {
	volume, err := ParseVolume(StandIn(entry))
	switch {
	case err != nil || !strings.Contains(volume.Source, AssetStandIn) || !hasReference(entry):
		return volume, err
	case !AssetMount(entry):
		return volume, fmt.Errorf("%q: the source is one file of an asset, and nothing else", entry)
	case slices.Contains(strings.Split(volume.Mode, ","), "rw"):
		return volume, fmt.Errorf("%q: a file of an asset is mounted read-only; leave rw out", entry)
	}
	return volume, nil
}

// host checks what the container may do to its machine.
func (c *checker) host(s DeploymentSpec) {
	c.capabilities("cap_add", s.CapAdd)
	c.capabilities("cap_drop", s.CapDrop)
	devices := map[string]int{}
	for i, entry := range s.Devices {
		device, err := ParseDevice(entry)
		c.addError(index("devices", i), err)
		if first, twice := devices[device.Container]; twice && err == nil {
			c.add(index("devices", i), "%s is at devices[%d] already", device.Container, first)
		}
		devices[device.Container] = i
	}
	c.each("security_opt", s.SecurityOpt, CheckSecurityOpt)
}

// Capabilities are the names the kernel knows, without CAP_.
var Capabilities = []string{
	"AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN", "DAC_OVERRIDE",
	"DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN",
	"MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "PERFMON", "SETFCAP", "SETGID",
	"SETPCAP", "SETUID", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE",
	"SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "SYSLOG", "WAKE_ALARM",
}

func (c *checker) capabilities(field string, names []string) {
	seen := map[string]int{}
	for i, name := range names {
		plain := strings.TrimPrefix(strings.ToUpper(name), "CAP_")
		if plain != "ALL" && !slices.Contains(Capabilities, plain) {
			c.add(index(field, i), "%q is not a capability such as NET_ADMIN, or ALL", name)
		}
		if first, twice := seen[plain]; twice {
			c.add(index(field, i), "%q is at %s[%d] already", name, field, first)
		}
		seen[plain] = i
	}
}

// minMemory is the least an engine starts a container with.
const minMemory = 6 << 20

// limits checks what bounds the container's use.
func (c *checker) limits(s DeploymentSpec) {
	for _, name := range slices.Sorted(maps.Keys(s.Ulimits)) {
		_, _, _, err := ParseUlimit(name + "=" + s.Ulimits[name])
		c.addError(key("ulimits", name), err)
	}
	c.resources("resources", s.Resources)
	if s.Logs != nil {
		if s.Logs.MaxSize != "" {
			c.size("logs.max_size", s.Logs.MaxSize)
		}
		if s.Logs.MaxFiles != nil {
			c.between("logs.max_files", *s.Logs.MaxFiles, 1, 1000)
		}
	}
}

func (c *checker) resources(field string, r *Resources) {
	if r == nil {
		return
	}
	c.reservations(field, *r)
	if r.Limits == nil {
		return
	}
	if r.Limits.CPU != "" {
		_, err := ParseCPU(r.Limits.CPU)
		c.addError(field+".limits.cpu", err)
	}
	if r.Limits.Memory == "" {
		return
	}
	bytes, err := ParseMemory(r.Limits.Memory)
	if err == nil && bytes < minMemory {
		err = fmt.Errorf("%q is less than the 6Mi an engine needs to start a container", r.Limits.Memory)
	}
	c.addError(field+".limits.memory", err)
}

func (c *checker) size(field, text string) {
	bytes, err := ParseSize(text)
	if err == nil && bytes == 0 {
		err = fmt.Errorf("%q is nothing", text)
	}
	c.addError(field, err)
}
