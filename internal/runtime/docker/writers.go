package docker

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/runtime"
)

var _ runtime.Neighbours = (*Runtime)(nil)

// SecondWriter implements runtime.Neighbours. It takes one call, and none for a spec without volumes. What carries the
// label of this cluster is Tend's own.
func (r *Runtime) SecondWriter(ctx context.Context, spec api.DeploymentSpec) (volumes.Writer, bool, error) {
	return r.secondWriter(ctx, volumes.Written(spec), spec.Labels)
}

// SecondWriterOf implements runtime.Neighbours.
func (r *Runtime) SecondWriterOf(ctx context.Context, id string) (volumes.Writer, bool, error) {
	inspected, err := r.inspectOwn(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return volumes.Writer{}, false, nil // the start finds that out
	}
	if err != nil {
		return volumes.Writer{}, false, err
	}
	var written []string
	for _, source := range writable(inspected.Container.Mounts, false) {
		if (api.Volume{Source: source}).Data() {
			written = append(written, source)
		}
	}
	return r.secondWriter(ctx, written, inspected.Container.Config.Labels)
}

func (r *Runtime) secondWriter(ctx context.Context, written []string, labels map[string]string) (volumes.Writer, bool, error) {
	_, local := r.local()
	sources, folders := make([]string, 0, len(written)), false
	for _, source := range written {
		if path.IsAbs(source) {
			folders = true
			if source = realFolder(source, local); source == "" {
				continue
			}
		}
		sources = append(sources, source)
	}
	if len(sources) == 0 {
		return volumes.Writer{}, false, nil
	}
	options := client.ContainerListOptions{Filters: make(client.Filters)}
	if !folders { // of folders the engine would compare the paths as they were written
		options.Filters.Add("volume", sources...)
	}
	list, err := r.client.ContainerList(ctx, options)
	if err != nil {
		return volumes.Writer{}, false, fault("list the containers that use its volumes", err)
	}
	var others []volumes.Container
	for _, item := range list.Items {
		if item.Labels[api.LabelCluster] == r.options.Cluster || len(item.Names) == 0 {
			continue
		}
		others = append(others, volumes.Container{
			Name: strings.TrimPrefix(item.Names[0], "/"), Labels: item.Labels, Writes: writable(item.Mounts, local),
		})
	}
	writer, found := volumes.SecondWriter(sources, labels, others)
	return writer, found, nil
}

// writable returns the volumes and folders that a container may write to.
func writable(mounts []container.MountPoint, local bool) []string {
	var out []string
	for _, m := range mounts {
		switch {
		case !m.RW:
		case m.Type == mount.TypeVolume:
			out = append(out, m.Name)
		case m.Type == mount.TypeBind:
			if folder := realFolder(m.Source, local); folder != "" {
				out = append(out, folder)
			}
		}
	}
	return out
}

// realFolder returns the folder a path leads to; empty for a file, which holds no data folder. The folders of another
// machine are taken by their paths.
func realFolder(source string, local bool) string {
	source = path.Clean(source)
	if !local {
		return source
	}
	if info, err := os.Stat(source); err == nil && !info.IsDir() {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(source); err == nil {
		return resolved
	}
	return source
}
