package ingress

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// letGo has the kernel end connections whose other side takes nothing of what is sent to it for a time: it went without a
// word, or it reads no more and would keep its pod's connection for ever.
func letGo(after time.Duration) func(network, address string, conn syscall.RawConn) error {
	return func(_, _ string, conn syscall.RawConn) error {
		var err error
		looked := conn.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
		})
		return errors.Join(looked, err)
	}
}

// keepToOneself has a file stay behind when the process starts another.
func keepToOneself(fd int) { unix.CloseOnExec(fd) }
