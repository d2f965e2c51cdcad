package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// shared is a folder in memory that most systems have, writable by every user.
const shared = "/dev/shm"

// memoryFolder returns a folder whose files never reach a disk: below /run or XDG_RUNTIME_DIR if that is a tmpfs, else
// below /dev/shm, else on a tmpfs that root mounts. Each node has its own, since a machine may have several nodes of a
// cluster. Without make, the folder may not exist.
func memoryFolder(cluster, node string, make bool) (string, error) {
	own, user := "/run", os.Geteuid()
	if user != 0 {
		own = os.Getenv("XDG_RUNTIME_DIR")
	}
	var base string
	switch {
	case own != "" && inMemory(own):
		base = filepath.Join(own, "tend")
	case inMemory(shared):
		base = filepath.Join(shared, "tend-"+strconv.Itoa(user))
	case user == 0:
		base = "/run/tend"
	default:
		return "", errors.New("XDG_RUNTIME_DIR is not a tmpfs, and neither is " + shared)
	}
	folder := filepath.Join(base, cluster, node, "secrets")
	if !make {
		return folder, nil
	}
	if err := makePrivate(base, cluster, node, "secrets"); err != nil || inMemory(folder) {
		return folder, err
	}
	return folder, unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0700,size=64m")
}

func inMemory(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Type == unix.TMPFS_MAGIC
}

// makePrivate creates nested folders below base. Each must belong to this user, and other users must not be able to
// write to it: every user can create files in /dev/shm.
func makePrivate(base string, below ...string) error {
	folder := base
	for _, part := range append([]string{""}, below...) {
		folder = filepath.Join(folder, part)
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		var stat unix.Stat_t
		if err := unix.Lstat(folder, &stat); err != nil {
			return err
		}
		if stat.Mode&unix.S_IFMT != unix.S_IFDIR || int(stat.Uid) != os.Geteuid() || stat.Mode&0o022 != 0 {
			return fmt.Errorf("%s is not a folder of this user alone", folder)
		}
	}
	return nil
}
