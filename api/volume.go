package api

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// Volume is one entry of `volumes`, taken apart.
type Volume struct {
	// Source is an absolute path of the host, or the name of a volume.
	Source string
	Target string
	// Mode holds the options behind the second colon, such as ro or z,nocopy.
	Mode string
}

// Named reports whether the source is a volume's name and not a path.
func (v Volume) Named() bool { return !path.IsAbs(v.Source) }

// Data reports whether the source holds data of its node that the container may change. Read-only mounts and files of
// the machine, such as the engine's socket, don't count.
func (v Volume) Data() bool {
	if slices.Contains(strings.Split(v.Mode, ","), "ro") {
		return false
	}
	return v.Named() || !slices.ContainsFunc(machineFolders, func(folder string) bool {
		return v.Source == folder || strings.HasPrefix(v.Source, folder+"/")
	})
}

var machineFolders = []string{"/dev", "/proc", "/sys", "/run", "/var/run", "/tmp", "/etc"}

var (
	volumeName = pattern.Lazy(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
	// volumeModes are the modes in their groups. The engine takes one of each group.
	volumeModes = [][]string{
		{"ro", "rw"}, {"z", "Z"}, copyModes, {"consistent", "cached", "delegated"}, propagationModes,
	}
	// The engine copies into volumes with a name alone, and propagates mounts below paths of the host alone.
	copyModes        = []string{"nocopy"}
	propagationModes = []string{"shared", "rshared", "slave", "rslave", "private", "rprivate"}
)

// ParseVolume reads source:target[:mode].
func ParseVolume(entry string) (Volume, error) {
	parts := strings.Split(entry, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return Volume{}, fmt.Errorf("%q is not source:target[:mode], such as data:/var/lib/data", entry)
	}
	v := Volume{Source: parts[0], Target: parts[1]}
	if err := checkVolumeSource(v.Source); err != nil {
		return Volume{}, err
	}
	if err := checkTarget(v.Target); err != nil {
		return Volume{}, err
	}
	if len(parts) == 3 {
		v.Mode = parts[2]
		if err := v.checkModes(); err != nil {
			return Volume{}, err
		}
	}
	return v, nil
}

// checkModes refuses the modes that the engine refuses when it makes the container.
func (v Volume) checkModes() error {
	given := make([]string, len(volumeModes))
	for mode := range strings.SplitSeq(v.Mode, ",") {
		group := slices.IndexFunc(volumeModes, func(of []string) bool { return slices.Contains(of, mode) })
		switch {
		case group < 0:
			return fmt.Errorf("mode %q is not one of %s", mode, strings.Join(slices.Concat(volumeModes...), ", "))
		case given[group] == mode:
			return fmt.Errorf("mode %q is given twice", mode)
		case given[group] != "":
			return fmt.Errorf("modes %q and %q exclude each other", given[group], mode)
		case v.Named() && slices.Contains(propagationModes, mode):
			return fmt.Errorf("mode %q is of paths of the host, not of volume %q", mode, v.Source)
		case !v.Named() && slices.Contains(copyModes, mode):
			return fmt.Errorf("mode %q is of volumes with a name, not of path %q", mode, v.Source)
		}
		given[group] = mode
	}
	return nil
}

func checkVolumeSource(source string) error {
	switch {
	case source == "":
		return errors.New("the source is empty")
	case path.IsAbs(source):
		return checkNoParent("source", source)
	case strings.HasPrefix(source, ".") || strings.HasPrefix(source, "~") || strings.Contains(source, "/"):
		return fmt.Errorf("source %q is a relative path; a host path is absolute, a volume's name has no slash", source)
	case len(source) < 2 || len(source) > 255 || !volumeName().MatchString(source):
		return fmt.Errorf("source %q is neither an absolute path nor a volume's name (at least two of a-z A-Z 0-9 _ . -)",
			source)
	}
	return nil
}

// checkTarget is for every path inside the container that something is mounted on.
func checkTarget(target string) error {
	if !path.IsAbs(target) {
		return fmt.Errorf("target %q is not an absolute path", target)
	}
	if path.Clean(target) == "/" {
		return errors.New("target is / itself; mount below it")
	}
	return checkNoParent("target", target)
}

func checkNoParent(what, text string) error {
	if strings.ContainsRune(text, 0) {
		return fmt.Errorf("%s contains a NUL", what)
	}
	if slices.Contains(strings.Split(text, "/"), "..") {
		return fmt.Errorf("%s %q climbs with ..; write the path it leads to", what, text)
	}
	return nil
}

// ParseTmpfs reads target[:options], the options as mount takes them (size=64m,mode=1777).
func ParseTmpfs(entry string) (target, options string, err error) {
	target, options, _ = strings.Cut(entry, ":")
	if err := checkTarget(target); err != nil {
		return "", "", err
	}
	for option := range strings.SplitSeq(options, ",") {
		key, value, hasValue := strings.Cut(option, "=")
		switch {
		case option == "" && options == "", !hasValue && tmpfsOption().MatchString(key):
		case hasValue && value != "" && slices.Contains(tmpfsSettings, key):
		default:
			return "", "", fmt.Errorf("%q is not an option of tmpfs", option)
		}
	}
	return target, options, nil
}

var (
	tmpfsOption   = pattern.Lazy(`^(ro|rw|(no)?(suid|dev|exec|atime|diratime|relatime|strictatime)|(a)?sync|dirsync|r?(private|shared|slave|unbindable)|defaults|(no)?mand|norelatime|nostrictatime|remount|r?bind)$`)
	tmpfsSettings = []string{"size", "mode", "uid", "gid", "nr_inodes", "nr_blocks", "mpol"}
)
