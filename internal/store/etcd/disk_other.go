//go:build !linux

package etcd

import (
	"errors"
	"os"
)

// freeBytes returns an error: servers run on Linux, and elsewhere the package is only compiled into the commands.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }

// reserve returns an error, as freeBytes does.
func reserve(*os.File, int64) error { return errors.ErrUnsupported }
