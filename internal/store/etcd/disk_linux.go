package etcd

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeBytes returns the space on a folder's disk that is free for an unprivileged process.
func freeBytes(folder string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * stat.Bsize, nil
}

// reserve allocates blocks of the disk for a file, so that removing it frees its size.
func reserve(file *os.File, size int64) error { return unix.Fallocate(int(file.Fd()), 0, 0, size) }
