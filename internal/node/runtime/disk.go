package runtime

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
)

// scarceMiB is the free room below which a disk is nearly full.
const scarceMiB = 256

// shortShare and shortMiB say when a disk is short: with less than a tenth of it free, or less than 2 GiB.
const (
	shortShare = 10
	shortMiB   = 2 << 10
)

// DiskUser is a runtime that knows how much room its parts take.
type DiskUser interface {
	DiskUse(ctx context.Context) (DiskUse, error)
}

// DiskUse lists what a runtime has on its disk.
type DiskUse struct {
	// SizeBytes and FreeBytes are those of the disk; 0 where it can't be seen from here.
	SizeBytes, FreeBytes int64
	// Images and Volumes are all of the engine's, Logs those of the cluster's containers.
	Images, Volumes, Logs api.DiskUse
}

// Room returns the size of the disk of a folder, and how much of it is free; zeros if it can't be read.
func Room(folder string) (size, free int64) {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) != nil {
		return 0, 0
	}
	block := int64(disk.Bsize) //nolint:unconvert // another type on macOS
	return int64(disk.Blocks) * block, int64(disk.Bavail) * block
}

// DiskShort reports whether the disk of a folder has less than a tenth, or less than 2 GiB, free.
func DiskShort(folder string) bool {
	size, free := Room(folder)
	return size > 0 && (free < size/shortShare || free < shortMiB<<20)
}

// DiskPressure returns Info's text about the disk of a folder. It doesn't say how much is free: a figure that always
// changes would always be reported.
func DiskPressure(folder string) string {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) != nil || disk.Bavail*uint64(disk.Bsize) >= scarceMiB<<20 {
		return ""
	}
	return fmt.Sprintf("the disk of %s has less than %d MiB free: new containers and images may fail with DiskFull; new pods go to other nodes where they can", folder, scarceMiB)
}
