package ingress

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// letGo makes the kernel end connections whose peer acknowledges nothing for a time: it disappeared, or it stopped
// reading and would occupy its pod's connection forever.
func letGo(after time.Duration) func(network, address string, conn syscall.RawConn) error {
	return func(_, _ string, conn syscall.RawConn) error {
		var err error
		failed := conn.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
		})
		return errors.Join(failed, err)
	}
}

// resent returns how often the kernel has sent the same data again without an acknowledgement.
func resent(conn syscall.RawConn) (times uint8, err error) {
	failed := conn.Control(func(fd uintptr) {
		var info *unix.TCPInfo
		if info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			times = info.Retransmits
		}
	})
	return times, errors.Join(failed, err)
}
