package relay

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
)

// Target is a port of a pod on another node. UID is that of the node's machine. Protocol is api.ProtocolUDP, or empty
// for TCP. HTTP lets the node of the pod add "Connection: close" to an answer of HTTP/1.1 while its relay ends.
type Target struct {
	Node, UID, Task string
	Port            int
	Protocol        string
	HTTP            bool
}

// RefusedError is the answer of a node that leads to no pod: nothing of what was to be sent was.
type RefusedError struct {
	Target Target
	Reason string
	// Early is set if the node can't know yet: its agent has just begun.
	Early bool
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("node %s doesn't lead to task %s: %s", e.Target.Node, e.Target.Task, e.Reason)
}

// openTime bounds what Open takes: two round trips, and a connection on the other node.
const openTime = 5 * time.Second

// Open asks over a new connection to a relay for the target, and returns the connection to it, over which Packets sends
// datagrams. It closes conn if it fails.
func Open(ctx context.Context, own authority.Own, conn net.Conn, to Target) (*tls.Conn, error) {
	secure := tls.Client(conn, own.Between(Protocol, func(is authority.Machine) error {
		if want := (authority.Machine{Node: to.Node, UID: to.UID}); is != want {
			return fmt.Errorf("%s answers there, and is not %s", named(is), named(want))
		}
		return nil
	}))
	if err := ask(ctx, secure, to); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

func named(m authority.Machine) string {
	if m.UID == "" {
		return "node " + m.Node
	}
	return fmt.Sprintf("node %s (machine %s)", m.Node, m.UID)
}

func ask(ctx context.Context, conn *tls.Conn, to Target) error {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	ends, _ := ctx.Deadline()
	if err := conn.SetDeadline(ends); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if err := conn.HandshakeContext(ctx); err != nil {
		stop()
		return fmt.Errorf("node %s: %w", to.Node, err)
	}
	var got answer
	err := writeHead(conn, request{Task: to.Task, Port: to.Port, Protocol: to.Protocol, HTTP: to.HTTP})
	if err == nil {
		err = readHead(conn, &got)
	}
	switch {
	case !stop() && err == nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("node %s: %w", to.Node, err)
	case got.Error != "":
		return &RefusedError{Target: to, Reason: got.Error, Early: got.Early}
	}
	return conn.SetDeadline(time.Time{})
}
