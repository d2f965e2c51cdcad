package compose

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// storage converts mounts. Named volumes keep the names Compose gave them, so that their data stays.
func (c *converter) storage(u *unit, out *api.Container) {
	r, at := c.report, u.at+".volumes"
	r.carry(at, at+"[*]")
	for _, key := range []string{"type", "source", "target", "read_only", "consistency", "bind", "bind.propagation", "bind.selinux", "bind.create_host_path",
		"volume", "volume.nocopy", "tmpfs", "tmpfs.size", "tmpfs.mode"} {
		r.carry(at + "[*]." + key)
	}
	for i, v := range u.Volumes {
		c.mount(u, fmt.Sprintf("%s[%d]", at, i), v, out)
	}
	r.carryAll(u.at + ".tmpfs")
	out.Tmpfs = append(out.Tmpfs, u.Tmpfs...)
}

func (c *converter) mount(u *unit, at string, v types.ServiceVolumeConfig, out *api.Container) {
	switch {
	case v.Type == types.VolumeTypeTmpfs:
		out.Tmpfs = append(out.Tmpfs, tmpfs(v))
	case v.Type == types.VolumeTypeBind:
		if !filepath.IsAbs(v.Source) {
			c.report.lost(at, "%q is no absolute path", v.Source)
			return
		}
		if strings.HasPrefix(v.Source, c.dir+string(filepath.Separator)) || v.Source == c.dir {
			c.report.note(at, "the source is %s, on the machine that runs the container", v.Source)
		}
		out.Volumes = append(out.Volumes, v.Source+":"+v.Target+modes(v))
		if v.Bind != nil && !bool(v.Bind.CreateHostPath) {
			c.report.lostIfWritten(at+".bind.create_host_path", "a folder that is not there is made")
		}
	case v.Type == types.VolumeTypeVolume && v.Source == "":
		u.flag(c, at, "--volume="+v.Target)
	case v.Type == types.VolumeTypeVolume:
		name := v.Source
		if volume, declared := c.project.Volumes[v.Source]; declared && volume.Name != "" {
			name = volume.Name
		}
		out.Volumes = append(out.Volumes, name+":"+v.Target+modes(v))
	default:
		c.report.lost(at, "Tend mounts no %s", v.Type)
	}
}

// modes returns the words behind a volume's target.
func modes(v types.ServiceVolumeConfig) string {
	var words []string
	if v.ReadOnly {
		words = append(words, "ro")
	}
	if v.Bind != nil && v.Bind.SELinux != "" {
		words = append(words, v.Bind.SELinux)
	}
	if v.Bind != nil && v.Bind.Propagation != "" {
		words = append(words, v.Bind.Propagation)
	}
	if v.Volume != nil && v.Volume.NoCopy {
		words = append(words, "nocopy")
	}
	switch v.Consistency {
	case "consistent", "cached", "delegated":
		words = append(words, v.Consistency)
	}
	if len(words) == 0 {
		return ""
	}
	return ":" + strings.Join(words, ",")
}

func tmpfs(v types.ServiceVolumeConfig) string {
	var options []string
	if v.Tmpfs != nil && v.Tmpfs.Size > 0 {
		options = append(options, fmt.Sprintf("size=%d", v.Tmpfs.Size))
	}
	if v.Tmpfs != nil && v.Tmpfs.Mode > 0 {
		options = append(options, fmt.Sprintf("mode=%o", v.Tmpfs.Mode))
	}
	if v.ReadOnly {
		options = append(options, "ro")
	}
	if len(options) == 0 {
		return v.Target
	}
	return v.Target + ":" + strings.Join(options, ",")
}
