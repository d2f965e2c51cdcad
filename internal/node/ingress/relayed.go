package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// errNoRelay means that this node has no certificate of the cluster, and so doesn't reach others.
var errNoRelay = errors.New("this node has no way to the pods of others")

type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// opening makes a new connection one to a pod. If it fails, it has closed the connection, and sent nothing of a
// request.
type opening func(ctx context.Context, conn net.Conn) (*tls.Conn, error)

// after returns what dials and opens. An error says that the connection could not be made.
func (o opening) after(dial dialing) dialing {
	if o == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		remote := conn.RemoteAddr()
		opened, err := o(ctx, conn)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: err}
		}
		if below, ok := conn.(*line); ok {
			return &relayedLine{Conn: opened, below: below}, nil
		}
		return opened, nil
	}
}

// relayedLine is a connection to a pod of another node.
type relayedLine struct {
	*tls.Conn
	below *line
}

// silent is line's: what is sent beyond an answer arrives as data of the connection below.
func (l *relayedLine) silent() bool { return l.below.silent() }
