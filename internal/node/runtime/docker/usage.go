package docker

import (
	"context"
	"os"
	"path/filepath"

	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

var _ runtime.DiskUser = (*Runtime)(nil)

// DiskUse implements runtime.DiskUser. The engine measures its volumes for that, which takes as long as reading them.
func (r *Runtime) DiskUse(ctx context.Context) (runtime.DiskUse, error) {
	result, err := r.client.DiskUsage(ctx, client.DiskUsageOptions{Images: true, Volumes: true})
	if err != nil {
		return runtime.DiskUse{}, r.fault("ask the engine for its disk usage", err)
	}
	use := runtime.DiskUse{
		Images:  api.DiskUse{Count: int(result.Images.TotalCount), Bytes: result.Images.TotalSize},
		Volumes: api.DiskUse{Count: int(result.Volumes.TotalCount), Bytes: result.Volumes.TotalSize},
	}
	if _, local := r.local(); !local {
		return use, nil
	}
	info, err := r.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return use, r.fault("ask the engine about itself", err)
	}
	own, err := r.client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", api.LabelCluster+"="+r.options.Cluster),
	})
	if err != nil {
		return use, r.fault("list containers", err)
	}
	use.SizeBytes, use.FreeBytes = runtime.Room(info.Info.DockerRootDir)
	for _, item := range own.Items {
		files, _ := filepath.Glob(filepath.Join(info.Info.DockerRootDir, "containers", item.ID, item.ID+"-json.log*"))
		for _, file := range files {
			if stat, err := os.Stat(file); err == nil {
				use.Logs.Bytes += stat.Size()
				use.Logs.Count++
			}
		}
	}
	return use, nil
}
