//go:build !linux

package ingress

import (
	"errors"
	"syscall"
	"time"
)

func letGo(time.Duration) func(network, address string, conn syscall.RawConn) error { return nil }

func resent(syscall.RawConn) (uint8, error) { return 0, errors.ErrUnsupported }
