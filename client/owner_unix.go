//go:build unix

package client

import (
	"io/fs"
	"os"
	"syscall"
)

// isOurs reports whether a file belongs to the user of this process.
func isOurs(info fs.FileInfo) bool {
	owner, known := info.Sys().(*syscall.Stat_t)
	return known && int(owner.Uid) == os.Geteuid()
}
