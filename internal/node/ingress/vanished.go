package ingress

import (
	"net"
	"syscall"
	"time"

	"tend.dev/tend/internal/platform/recovery"
)

// A node may vanish, without the end of any connection to it: its power is cut, or its network. The kernel would send
// what isn't acknowledged again for a quarter of an hour. TCP_USER_TIMEOUT would also end connections to a pod that
// reads nothing for a while, which is its right.
const (
	// maxResends is the number of times that the kernel sends the same data again, with growing pauses, until its receiver
	// counts as vanished: 13 s at the least, longer over slow networks.
	maxResends = 6
	// peerLook is the time between two looks at a connection.
	peerLook = 2 * time.Second
)

// peerProbes finds a node that has vanished while its answer is awaited, within 20 s.
var peerProbes = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}

// peered is a connection over TCP.
type peered interface {
	SetKeepAliveConfig(config net.KeepAliveConfig) error
	SyscallConn() (syscall.RawConn, error)
}

// endWithPeer closes a connection once its peer has vanished: the same data was sent so often in vain, or no probe was
// answered. It ends with the connection.
func endWithPeer(conn net.Conn, resends uint8) {
	below, ok := conn.(peered)
	if !ok || below.SetKeepAliveConfig(peerProbes) != nil {
		return
	}
	raw, err := below.SyscallConn()
	if err != nil {
		return
	}
	var look func()
	look = func() {
		switch times, err := resent(raw); {
		case err != nil: // it is closed
		case times >= resends:
			_ = conn.Close()
		default:
			recovery.AfterFunc(peerLook, look)
		}
	}
	recovery.AfterFunc(peerLook, look)
}
