package docker

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
)

// places gives each place of data one name, however it is mounted: the engine's folder of a volume becomes the volume,
// a volume of the local driver that binds a folder becomes the folder, and a link becomes its target.
type places struct {
	// local is set if the engine's folders are folders of this machine.
	local bool
	// volumes are the volumes by the folder in which the engine keeps them.
	volumes map[string]string
	// folders are the folders that volumes bind, by the volume.
	folders map[string]string
	paths   *paths
}

func listPlaces(ctx context.Context, engine *client.Client, local bool) (places, error) {
	list, err := engine.VolumeList(ctx, client.VolumeListOptions{})
	if err != nil {
		return places{}, fault("list the volumes", err)
	}
	return placesOf(list.Items, local, hostPaths), nil
}

// placesOf never reads a volume itself, since its file system may not answer. It resolves links only in the engine's
// folder of volumes.
func placesOf(list []volume.Volume, local bool, at *paths) places {
	p := places{local: local, volumes: map[string]string{}, folders: map[string]string{}, paths: at}
	roots := map[string]string{}
	for _, v := range list {
		if device := v.Options["device"]; v.Driver == "local" && path.IsAbs(device) && binds(v.Options["o"]) {
			p.folders[v.Name] = p.realFolder(device)
		}
		if v.Mountpoint == "" {
			continue
		}
		folder := path.Clean(v.Mountpoint)
		p.volumes[folder] = v.Name
		if within := path.Join(v.Name, "_data"); v.Driver == "local" && strings.HasSuffix(folder, "/"+within) {
			root := strings.TrimSuffix(folder, "/"+within)
			if _, known := roots[root]; !known {
				roots[root] = p.realFolder(root)
			}
			p.volumes[path.Join(roots[root], within)] = v.Name
		}
	}
	return p
}

// binds reports whether the mount options of a volume make it a folder of the host.
func binds(options string) bool {
	return slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "bind" || o == "rbind" })
}

// of returns the name of a volume or a folder; empty for a file, which can't be a folder of data.
func (p places) of(source string) string {
	if path.IsAbs(source) {
		name, is := p.volumes[path.Clean(source)]
		if !is {
			source = p.realFolder(source)
			name, is = p.volumes[source]
		}
		if is {
			source = name
		}
	}
	if folder := p.folders[source]; folder != "" {
		return folder
	}
	return source
}

// data returns the names of the sources that hold data.
func (p places) data(sources []string) (out []string) {
	for _, source := range sources {
		if at := p.of(source); at != "" && (api.Volume{Source: at}).Data() {
			out = append(out, at)
		}
	}
	return out
}

// writable returns the volumes and folders that a container may write to.
func (p places) writable(mounts []container.MountPoint) (out []string) {
	for _, m := range mounts {
		source := m.Source
		if m.Type == mount.TypeVolume {
			source = m.Name
		}
		if at := p.of(source); m.RW && at != "" && (m.Type == mount.TypeVolume || m.Type == mount.TypeBind) {
			out = append(out, at)
		}
	}
	return out
}

// labels returns labels whose shared volumes have the names that places have.
func (p places) labels(labels map[string]string) map[string]string {
	declared, there := labels[api.SharedVolumes]
	if !there {
		return labels
	}
	out := map[string]string{}
	maps.Copy(out, labels)
	out[api.SharedVolumes] = p.shared(declared)
	return out
}

// shared returns the value of the label api.SharedVolumes with the names that places have.
func (p places) shared(declared string) string {
	var names []string
	for source := range strings.SplitSeq(declared, ",") {
		names = append(names, p.of(strings.TrimSpace(source)))
	}
	return strings.Join(names, ",")
}

// realFolder returns the folder that a path leads to, or "" for a file. For an engine on another machine it returns the
// path.
func (p places) realFolder(source string) string {
	if source = path.Clean(source); p.local {
		return p.paths.resolve(source)
	}
	return source
}
