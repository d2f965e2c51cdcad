package rootfs

import (
	"io/fs"
	"syscall"
)

// changeTime is when anything about a file last changed; unlike its time of modification nobody can set it.
func changeTime(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano()
	}
	return 0
}
