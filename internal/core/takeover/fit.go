package takeover

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// Mount is a volume of the engine in a container.
type Mount struct {
	Volume, Target string
}

// Network is a network of a container, with the names it has there.
type Network struct {
	Name    string
	Aliases []string
}

// Runs has what the containers of a service run with.
type Runs struct {
	// Containers is their number.
	Containers int
	// Image is the reference they were made from.
	Image    string
	Mounts   []Mount
	Networks []Network
}

// anonymous matches the names that the engine gives to volumes without one.
var anonymous = pattern.Lazy(`^[0-9a-f]{64}$`)

// Nameless reports whether the engine named a volume, since nobody else did.
func Nameless(volume string) bool { return anonymous().MatchString(volume) }

// Fit returns the spec with which Tend's pods go on from where a service's containers stopped, and what it changed that
// a person should know.
func Fit(spec api.DeploymentSpec, runs Runs) (api.DeploymentSpec, []string) {
	f := fitting{spec: spec}
	f.spec.Volumes, f.spec.DockerOptions = slices.Clone(spec.Volumes), slices.Clone(spec.DockerOptions)
	f.image(runs.Image)
	for _, mount := range runs.Mounts {
		f.volume(mount, runs.Containers)
	}
	f.networks(runs.Networks)
	return f.spec, f.notes
}

type fitting struct {
	spec  api.DeploymentSpec
	notes []string
}

func (f *fitting) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// image keeps what Compose built: the image is on this machine, and in no registry.
func (f *fitting) image(runs string) {
	switch {
	case runs == "":
	case f.spec.Build != nil:
		f.spec.Build, f.spec.Image = nil, runs
		f.note("image is %s, which Compose built: no build", runs)
	case f.spec.Image != runs:
		f.note("image is %s, as in the file; the container runs %s", f.spec.Image, runs)
	}
}

// volume mounts a volume of the container by its name, so that its data stays. A volume without a name of its own is
// that of one container alone.
func (f *fitting) volume(mount Mount, containers int) {
	nameless := Nameless(mount.Volume)
	for i, entry := range f.spec.Volumes {
		parsed, err := api.ParseVolume(entry)
		if err != nil || parsed.Target != mount.Target {
			continue
		}
		if parsed.Named() && parsed.Source != mount.Volume && !nameless {
			f.spec.Volumes[i] = mount.Volume + strings.TrimPrefix(entry, parsed.Source)
			f.note("volume %s at %s; the file names %s", mount.Volume, mount.Target, parsed.Source)
		}
		return
	}
	if nameless && containers > 1 {
		f.note("volumes without a name at %s are not taken over: each of the %d containers has its own",
			mount.Target, containers)
		return
	}
	f.spec.DockerOptions = slices.DeleteFunc(f.spec.DockerOptions,
		func(flag string) bool { return flag == "--volume="+mount.Target })
	f.spec.Volumes = append(f.spec.Volumes, mount.Volume+":"+mount.Target)
	if nameless {
		f.note("volume %s… at %s has no name of its own; it is mounted by its id", mount.Volume[:12], mount.Target)
	}
}

// networks joins the networks on which the project's other containers find the service. The platform's network stays
// the first one, which the flags about one network are for.
func (f *fitting) networks(joined []Network) {
	if mode := f.spec.NetworkMode; len(joined) == 0 || mode != "" && mode != "bridge" {
		return
	}
	have := f.spec.Networks
	if len(have) == 0 && f.spec.Network != "" {
		have = []string{f.spec.Network}
	}
	f.spec.Networks, f.spec.Network = nil, ""
	flags := []string{"--network=" + api.Network}
	for _, name := range have {
		if name != api.Network && !slices.ContainsFunc(joined, func(n Network) bool { return n.Name == name }) {
			flags = append(flags, "--network="+name)
		}
	}
	for _, n := range joined {
		flag := "--network=name=" + n.Name
		for _, alias := range n.Aliases {
			flag += ",alias=" + alias
		}
		flags = append(flags, flag)
	}
	f.spec.DockerOptions = append(f.spec.DockerOptions, flags...)
}
