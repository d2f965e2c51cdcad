package volumes

import (
	"path"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

// Labels that Compose puts on its containers.
const (
	LabelProject = "com.docker.compose.project"
	LabelService = "com.docker.compose.service"
)

// Container is a running container of another program.
type Container struct {
	Name   string
	Labels map[string]string
	// Writes are the names of volumes and the folders of the host that it may write to.
	Writes []string
}

// Written returns what the containers of a spec may write to, its init containers among them, each once: named volumes,
// and folders of the host that hold data. What docker_options mount counts too, but for the volumes of other containers
// (From); malformed entries are left to validation.
func Written(spec api.DeploymentSpec) []string {
	found := writtenBy(spec)
	for _, init := range inits(spec) {
		found = append(found, writtenBy(init)...)
	}
	return once(found)
}

// From returns the containers whose volumes the containers of a spec mount and may write to, by --volumes-from.
func From(spec api.DeploymentSpec) []string {
	var found []string
	for _, of := range append([]api.DeploymentSpec{spec}, inits(spec)...) {
		for _, entry := range optionsOf(of).VolumesFrom {
			name, mode, _ := strings.Cut(entry, ":")
			if !slices.Contains(strings.Split(mode, ","), "ro") {
				found = append(found, name)
			}
		}
	}
	return once(found)
}

func inits(spec api.DeploymentSpec) (out []api.DeploymentSpec) {
	for _, init := range spec.Inits {
		out = append(out, spec.ForInit(init))
	}
	return out
}

// once returns a list without what it names again.
func once(list []string) (out []string) {
	for _, entry := range list {
		if !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	return out
}

// optionsOf returns the docker_options of a spec; none if validation has to report them.
func optionsOf(spec api.DeploymentSpec) dockerflags.Options {
	options, err := dockerflags.Of(spec)
	if err != nil {
		return dockerflags.Options{}
	}
	return options
}

func writtenBy(spec api.DeploymentSpec) (found []string) {
	for _, v := range mountsBy(spec) {
		found = append(found, v.Source)
	}
	return found
}

// mountsBy returns what the container of a spec mounts and may write to, without the volumes that have no name.
func mountsBy(spec api.DeploymentSpec) (found []api.Volume) {
	add := func(v api.Volume) {
		if !v.Named() {
			v.Source = path.Clean(v.Source)
		}
		if v.Source != "" && v.Data() {
			found = append(found, v)
		}
	}
	options := optionsOf(spec)
	for _, entry := range slices.Concat(spec.Volumes, options.Binds) {
		if parsed, err := api.ParseVolume(entry); err == nil {
			add(parsed)
		}
	}
	for _, mount := range options.Mounts {
		if !mount.ReadOnly && (mount.Type == "volume" || mount.Type == "bind") {
			add(api.Volume{Source: mount.Source, Target: mount.Target})
		}
	}
	return found
}

// SecondWriter returns the first running container that writes to one of the sources in written. labels are those of
// the container that is about to start.
func SecondWriter(written []string, labels map[string]string, running []Container) (Writer, bool) {
	for _, source := range written {
		for _, other := range running {
			if !slices.Contains(other.Writes, source) || shares(labels, source) || shares(other.Labels, source) {
				continue
			}
			return Writer{
				Source: source, Container: other.Name,
				Project: other.Labels[LabelProject], Service: other.Labels[LabelService],
			}, true
		}
	}
	return Writer{}, false
}

// shares reports whether a container's labels name the source as one that several programs write to.
func shares(labels map[string]string, source string) bool {
	return slices.ContainsFunc(strings.Split(labels[api.SharedVolumes], ","), func(name string) bool {
		return strings.TrimSpace(name) == source
	})
}
