package runtime

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// scarceMiB is the free room below which a disk is nearly full.
const scarceMiB = 256

// shortShare and shortMiB say when a disk is short: with less than a tenth of it free, or less than 2 GiB.
const (
	shortShare = 10
	shortMiB   = 2 << 10
)

// DiskShort reports whether the disk of a folder has less than a tenth, or less than 2 GiB, free.
func DiskShort(folder string) bool {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) != nil {
		return false
	}
	return disk.Bavail < disk.Blocks/shortShare || disk.Bavail*uint64(disk.Bsize) < shortMiB<<20
}

// DiskPressure is what Info says of the disk of a folder. It doesn't say how much is free: what changes all the time would be
// reported all the time.
func DiskPressure(folder string) string {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) != nil || disk.Bavail*uint64(disk.Bsize) >= scarceMiB<<20 {
		return ""
	}
	return fmt.Sprintf("the disk of %s has less than %d MiB free: new containers and images may fail with DiskFull; new pods go to other nodes where they can", folder, scarceMiB)
}
