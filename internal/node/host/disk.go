package host

import (
	"context"
	"io/fs"
	"path/filepath"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Disk implements nodeapi.Node.
func (a access) Disk(ctx context.Context, prune bool) (api.NodeDisk, error) {
	h := a.host
	surplus, err := h.surplus(ctx, prune)
	if err != nil {
		return api.NodeDisk{}, err
	}
	disk := api.NodeDisk{Node: h.Node, Surplus: surplus, Root: folderUse(h.Root)}
	if err := h.measure(ctx, &disk); err != nil {
		disk.Message = err.Error() // images that were removed before the error count all the same
	}
	return disk, nil
}

// measure adds the disk usage that the engine reports.
func (h *Host) measure(ctx context.Context, disk *api.NodeDisk) error {
	info, err := h.runtime.Info(ctx)
	if err != nil {
		return err
	}
	disk.Short = info.DiskShort
	if user, ok := runtime.As[runtime.DiskUser](h.runtime); ok {
		use, err := user.DiskUse(ctx)
		if err != nil {
			return err
		}
		disk.SizeBytes, disk.FreeBytes = use.SizeBytes, use.FreeBytes
		disk.Images, disk.Volumes, disk.Logs = use.Images, use.Volumes, use.Logs
	} else {
		disk.SizeBytes, disk.FreeBytes = runtime.Room(h.Root)
	}
	return nil
}

// surplus returns the images that Tend built or pulled and that nothing refers to. With prune it removes them.
func (h *Host) surplus(ctx context.Context, prune bool) ([]api.SurplusImage, error) {
	store, ok := runtime.As[runtime.ImageStore](h.runtime)
	if !ok {
		return nil, nil
	}
	stored, err := store.Images(ctx)
	if err != nil {
		return nil, err
	}
	built, err := h.builder.Surplus(ctx, stored, h.Control.Referred, prune)
	if err != nil {
		return nil, err
	}
	pulled, err := h.pulled.Surplus(ctx, h.Control.Referred, prune)
	return append(built, pulled...), err
}

// folderUse returns the number of files below a folder, and their size. Unreadable ones count as 0.
func folderUse(folder string) (use api.DiskUse) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // a file that goes meanwhile
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			use.Count++
			use.Bytes += info.Size()
		}
		return nil
	})
	return use
}
