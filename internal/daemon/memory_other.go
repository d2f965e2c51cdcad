//go:build !linux

package daemon

import "errors"

// memoryFolder is for Linux alone: it knows tmpfs.
func memoryFolder(string, bool) (string, error) {
	return "", errors.New("only Linux has folders in memory")
}
