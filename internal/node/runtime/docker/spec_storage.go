package docker

import (
	"maps"
	"os"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

func (m *mapping) storage() error {
	host := m.HostConfig
	for _, entry := range m.declared.Volumes {
		if made, ok := hostPath(entry); ok {
			host.Mounts = append(host.Mounts, made)
			continue
		}
		host.Binds = append(host.Binds, entry)
	}
	host.Binds = append(host.Binds, m.options.Binds...)
	for _, target := range m.options.AnonymousVolumes {
		if m.Config.Volumes == nil {
			m.Config.Volumes = map[string]struct{}{}
		}
		m.Config.Volumes[target] = struct{}{}
	}
	for _, wanted := range m.options.Mounts {
		host.Mounts = append(host.Mounts, newMount(wanted))
	}
	for _, file := range m.spec.Files { // as mounts: of a bind whose source is missing the engine makes a folder
		host.Mounts = append(host.Mounts,
			mount.Mount{Type: mount.TypeBind, Source: file.Source, Target: file.Target, ReadOnly: true})
	}
	host.VolumeDriver, host.VolumesFrom = m.options.VolumeDriver, m.options.VolumesFrom
	host.StorageOpt = m.options.StorageOpts
	host.ReadonlyRootfs = m.declared.ReadOnly || m.options.ReadOnly
	if err := m.tmpfs(); err != nil {
		return err
	}
	host.ShmSize = m.options.ShmSize
	if m.declared.ShmSize != "" {
		size, err := api.ParseSize(m.declared.ShmSize)
		if err != nil {
			return invalid("shm_size", err)
		}
		host.ShmSize = size
	}
	return nil
}

func (m *mapping) tmpfs() error {
	mounts := map[string]string{}
	maps.Copy(mounts, m.options.Tmpfs)
	for _, entry := range m.declared.Tmpfs {
		target, options, err := api.ParseTmpfs(entry)
		if err != nil {
			return invalid("tmpfs", err)
		}
		mounts[target] = options
	}
	if len(mounts) > 0 {
		m.HostConfig.Tmpfs = mounts
	}
	return nil
}

// hostPath turns a volume whose source is a path of the host into a mount: a mount with a missing source fails, while
// for a bind the engine would create an empty folder. A volume with modes that mounts don't have (z, Z) stays a bind,
// and docker_options behave as in docker.
func hostPath(entry string) (mount.Mount, bool) {
	volume, err := api.ParseVolume(entry)
	if err != nil || volume.Named() {
		return mount.Mount{}, false
	}
	made := mount.Mount{Type: mount.TypeBind, Source: volume.Source, Target: volume.Target}
	if volume.Mode == "" {
		return made, true
	}
	for mode := range strings.SplitSeq(volume.Mode, ",") {
		switch mode {
		case "ro":
			made.ReadOnly = true
		case "rw":
		case "consistent", "cached", "delegated":
			made.Consistency = mount.Consistency(mode)
		case "shared", "rshared", "slave", "rslave", "private", "rprivate":
			made.BindOptions = &mount.BindOptions{Propagation: mount.Propagation(mode)}
		default:
			return mount.Mount{}, false
		}
	}
	return made, true
}

func newMount(from dockerflags.Mount) mount.Mount {
	out := mount.Mount{
		Type: mount.Type(from.Type), Source: from.Source, Target: from.Target, ReadOnly: from.ReadOnly,
		Consistency: mount.Consistency(from.Consistency),
	}
	if from.Propagation != "" || from.NonRecursive {
		out.BindOptions = &mount.BindOptions{Propagation: mount.Propagation(from.Propagation),
			NonRecursive: from.NonRecursive}
	}
	if from.NoCopy || from.VolumeLabels != nil || from.VolumeDriver != "" || from.VolumeOptions != nil {
		out.VolumeOptions = &mount.VolumeOptions{NoCopy: from.NoCopy, Labels: from.VolumeLabels}
		if from.VolumeDriver != "" || from.VolumeOptions != nil {
			out.VolumeOptions.DriverConfig = &mount.Driver{Name: from.VolumeDriver, Options: from.VolumeOptions}
		}
	}
	if from.TmpfsSize != 0 || from.TmpfsMode != 0 {
		out.TmpfsOptions = &mount.TmpfsOptions{SizeBytes: from.TmpfsSize, Mode: os.FileMode(from.TmpfsMode)}
	}
	return out
}

func (m *mapping) devices() error {
	for _, entry := range m.declared.Devices {
		device, err := api.ParseDevice(entry)
		if err != nil {
			return invalid("devices", err)
		}
		m.addDevice(device)
	}
	for _, device := range m.options.Devices {
		m.addDevice(device)
	}
	m.HostConfig.DeviceCgroupRules = m.options.DeviceCgroupRules
	for _, wanted := range m.options.DeviceRequests {
		m.HostConfig.DeviceRequests = append(m.HostConfig.DeviceRequests, container.DeviceRequest(wanted))
	}
	return nil
}

func (m *mapping) addDevice(device api.Device) {
	m.HostConfig.Devices = append(m.HostConfig.Devices, container.DeviceMapping{
		PathOnHost: device.Host, PathInContainer: device.Container, CgroupPermissions: device.Permissions,
	})
}
