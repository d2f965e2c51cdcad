//go:build !linux

package host

import "errors"

// memoryFolder works only on Linux, which has tmpfs.
func memoryFolder(string, string, bool) (string, error) {
	return "", errors.New("only Linux has folders in memory")
}
