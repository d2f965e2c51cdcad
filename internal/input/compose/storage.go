package compose

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// NamelessVolume is the finding about a volume without a name. An adoption mounts the existing one.
const NamelessVolume = "a volume without a name: Compose hands it on to the next container, and here each new pod begins with " +
	"an empty one, which goes with the pod; give it a name to keep what is in it"

// storage converts mounts. Named volumes keep the names Compose gave them, so that their data stays.
func (c *converter) storage(u *unit, out *api.Container) {
	r, at := c.report, u.at+".volumes"
	r.carry(at, at+"[*]")
	for _, key := range []string{"type", "source", "target", "read_only", "consistency", "bind", "bind.propagation",
		"bind.selinux", "bind.create_host_path",
		"volume", "volume.nocopy", "tmpfs", "tmpfs.size", "tmpfs.mode"} {
		r.carry(at + "[*]." + key)
	}
	for i, v := range u.Volumes {
		c.mount(u, fmt.Sprintf("%s[%d]", at, i), v, out)
	}
	r.carryAll(u.at + ".tmpfs")
	u.list("tmpfs", "tmpfs", len(u.Tmpfs))
	out.Tmpfs = append(out.Tmpfs, u.Tmpfs...)
}

func (c *converter) mount(u *unit, at string, v types.ServiceVolumeConfig, out *api.Container) {
	switch {
	case v.Type == types.VolumeTypeTmpfs:
		u.from("tmpfs", at)
		out.Tmpfs = append(out.Tmpfs, tmpfs(v))
	case v.Type == types.VolumeTypeBind:
		c.bind(u, at, v, out)
	case v.Type == types.VolumeTypeVolume && v.Source == "":
		c.report.differs(at, NamelessVolume)
		if v.ReadOnly {
			c.report.lost(at+".read_only", Changes, "a volume without a name can be written")
		}
		if v.Volume != nil && v.Volume.NoCopy {
			c.report.lost(at+".volume.nocopy", Changes, "a volume without a name begins with what the image has at its path")
		}
		u.flag(c, at, "--volume="+v.Target)
	case v.Type == types.VolumeTypeVolume:
		name := v.Source
		if volume, declared := c.project.Volumes[v.Source]; declared && volume.Name != "" {
			name = volume.Name
		}
		u.from("volumes", at)
		out.Volumes = append(out.Volumes, name+":"+v.Target+modes(v))
		if v.Bind != nil && v.Bind.Propagation != "" {
			c.report.note(at+".bind.propagation", "it is of bind mounts; Compose passes over it too")
		}
	default:
		c.report.lost(at, Breaks, "Tend mounts no %s", v.Type)
	}
}

// bind converts a bind mount of a folder or a file of the machine. Compose creates a missing folder; Tend refuses it,
// since a wrong path would look like an empty folder.
func (c *converter) bind(u *unit, at string, v types.ServiceVolumeConfig, out *api.Container) {
	if !filepath.IsAbs(v.Source) {
		c.report.lost(at, Breaks, "%q is not an absolute path", v.Source)
		return
	}
	u.from("volumes", at)
	out.Volumes = append(out.Volumes, v.Source+":"+v.Target+modes(v))
	if v.Volume != nil && v.Volume.NoCopy {
		c.report.note(at+".volume.nocopy", "it is of volumes with a name; Compose passes over it too")
	}
	if v.Source != c.dir && !strings.HasPrefix(v.Source, c.dir+string(filepath.Separator)) {
		return
	}
	shown := relativeTo(c.from, v.Source)
	_, err := os.Stat(v.Source)
	made := v.Bind == nil || bool(v.Bind.CreateHostPath)
	switch {
	case !errors.Is(err, os.ErrNotExist):
		c.report.note(at, "the source is %s, on the machine that runs the container", shown)
	case made && filepath.Ext(v.Source) != "":
		c.report.differs(at,
			"%s isn't there: Compose would make a folder of this name, and Tend mounts nothing that isn't there", shown)
		c.steps.files = append(c.steps.files, shown)
	case made:
		c.report.differs(at, "%s isn't there: Compose would make the folder, and Tend mounts nothing that isn't there", shown)
		c.steps.folders = append(c.steps.folders, shown)
	default:
		c.report.note(at, "%s isn't there, and Compose would refuse it as Tend does", shown)
		c.steps.files = append(c.steps.files, shown)
	}
}

// modes returns the options after a volume's target, such as ro. Compose passes over propagation for a volume with a
// name and nocopy for a path, which the engine refuses.
func modes(v types.ServiceVolumeConfig) string {
	var words []string
	if v.ReadOnly {
		words = append(words, "ro")
	}
	if v.Bind != nil && v.Bind.SELinux != "" {
		words = append(words, v.Bind.SELinux)
	}
	if v.Bind != nil && v.Bind.Propagation != "" && v.Type == types.VolumeTypeBind {
		words = append(words, v.Bind.Propagation)
	}
	if v.Volume != nil && v.Volume.NoCopy && v.Type == types.VolumeTypeVolume {
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
