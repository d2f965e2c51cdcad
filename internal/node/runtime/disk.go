package runtime

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
)

// scarceMiB is the free room below which a disk is nearly full.
const scarceMiB = 256

// shortShare and shortMiB define a short disk: less than a tenth of it free, or less than 2 GiB.
const (
	shortShare = 10
	shortMiB   = 2 << 10
)

// DiskUser is a runtime that can measure the disk usage of its parts.
type DiskUser interface {
	DiskUse(ctx context.Context) (DiskUse, error)
}

// DiskUse is the disk usage of a runtime.
type DiskUse struct {
	// SizeBytes and FreeBytes are the size and the free space of the disk; 0 if it can't be read from here.
	SizeBytes, FreeBytes int64
	// Images and Volumes are the usage of the whole engine, Logs that of the cluster's containers.
	Images, Volumes, Logs api.DiskUse
}

// Room returns the size of a folder's disk and its free space; zeros if they can't be read.
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

// DiskPressure returns Info's text about the disk of a folder. It doesn't give the free space: a number that always
// changes would be reported again and again.
func DiskPressure(folder string) string {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) != nil || disk.Bavail*uint64(disk.Bsize) >= scarceMiB<<20 {
		return ""
	}
	return fmt.Sprintf("the disk of %s has less than %d MiB free: new containers and images may fail with DiskFull; new pods go to other nodes where they can", folder, scarceMiB)
}
