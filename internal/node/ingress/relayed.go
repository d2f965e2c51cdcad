package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// errNoRelay means that this node has no certificate of the cluster, and so can't connect to others.
var errNoRelay = errors.New("this node has no way to the pods of others")

// dialing is the type of a net.Dialer's DialContext.
type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// opening turns a new connection into one to a pod. If it fails, it has closed the connection, and sent no part of a
// request.
type opening func(ctx context.Context, conn net.Conn) (*tls.Conn, error)

// hurriedTime bounds the opening of a connection if another pod could be asked instead: it allows for the connection
// that the other node makes to the pod, with one lost packet. A node that stands still takes connections, since its
// kernel does, and answers none.
const hurriedTime = 2 * time.Second

// after returns a function that dials and then opens. Its error means that the connection could not be made.
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
		if x := exchangeOf(ctx); x != nil && x.hurried.Load() {
			within, cancel := context.WithTimeout(ctx, hurriedTime)
			defer cancel()
			ctx = within
		}
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

// silent asks the line below, where data that exceeds an answer arrives.
func (l *relayedLine) silent() bool { return l.below.silent() }
