package volumes

import (
	"fmt"
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

// Writer is a container that writes to what Tend's container would write to.
type Writer struct {
	// Source is the name of the volume, or the folder of the host.
	Source    string
	Container string
	// Project and Service are Compose's; empty for a container that Compose didn't make.
	Project, Service string
}

// Written returns what the containers of a spec may write to, each once: named volumes, and folders of the host that
// hold data. What docker_options mount counts too; malformed entries are left to validation.
func Written(spec api.DeploymentSpec) []string {
	var found []string
	add := func(v api.Volume) {
		if !v.Named() {
			v.Source = path.Clean(v.Source)
		}
		if v.Source != "" && v.Data() && !slices.Contains(found, v.Source) {
			found = append(found, v.Source)
		}
	}
	options, err := dockerflags.Of(spec)
	if err != nil {
		options = dockerflags.Options{}
	}
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
	for name := range strings.SplitSeq(labels[api.SharedVolumes], ",") {
		if strings.TrimSpace(name) == source {
			return true
		}
	}
	return false
}

// Detail says what is in use, and by which container.
func (w Writer) Detail() string {
	what := "volume " + w.Source
	if path.IsAbs(w.Source) {
		what = "folder " + w.Source
	}
	who := "container " + w.Container
	if w.Project != "" {
		who += fmt.Sprintf(" (service %s of the Compose project %s)", w.Service, w.Project)
	}
	return fmt.Sprintf("the %s is in use: %s writes to it", what, who)
}

// Next says how to get on.
func (w Writer) Next() string {
	if w.Project != "" {
		return fmt.Sprintf("docker compose -p %s down (without -v), then apply again; or take the project over: tend adopt compose", w.Project)
	}
	return fmt.Sprintf("docker stop %s, then apply again; or mount it read-only (%s:…:ro)", w.Container, w.Source)
}
