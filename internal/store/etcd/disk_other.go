//go:build !linux

package etcd

import (
	"errors"
	"os"
)

// freeBytes is unsupported: servers run on Linux, and elsewhere the package is only compiled into the commands.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }

// reserve is unsupported, as freeBytes is.
func reserve(*os.File, int64) error { return errors.ErrUnsupported }
