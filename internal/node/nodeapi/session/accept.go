package session

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"

	"tend.dev/tend/internal/node/nodeapi"
)

// Protocol is the name of such a connection in the TLS handshake.
const Protocol = "tend-node/1"

// Accept returns what a server's listener does with the connections of nodes (http.Server.TLSNextProto): their nodes
// are in the fleet until the connection ends. nodeOf returns the node by its certificate, and what to call at the end.
func Accept(fleet *nodeapi.Fleet, nodeOf func(*tls.Conn) (id string, left func(), err error), log *slog.Logger,
) func(*http.Server, *tls.Conn, http.Handler) {
	return func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
		defer conn.Close()
		id, left, err := nodeOf(conn)
		defer left()
		if err == nil {
			err = Attach(fleet, id, Plain(conn))
		}
		if err != nil {
			log.Warn("a node's connection is refused", "address", conn.RemoteAddr().String(), "error", err)
		}
	}
}

// Plain hides that a connection is one of TLS: its protocol is agreed upon already.
func Plain(conn *tls.Conn) net.Conn { return plain{conn} }

type plain struct{ net.Conn }

// Attach adds a node to the fleet until its connection ends.
func Attach(fleet *nodeapi.Fleet, id string, conn net.Conn) error {
	n, err := open(conn)
	if err != nil {
		return err
	}
	defer n.close()
	remove := fleet.Add(id, n)
	defer remove()
	<-n.closed
	return nil
}
