package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/platform/portowner"
)

// DefaultRelayListen is the default address for other nodes' connections to this node's pods. If another program has
// the port, the node uses a free one.
const DefaultRelayListen = ":8690"

// relaying is the machine's relay with its listener.
type relaying struct {
	*relay.Relay
	listener net.Listener
	askers   *askers
}

func (r *relaying) run(ctx context.Context) error { return r.Run(ctx, r.listener) }

// changed checks again whether the open connections of other nodes are permitted. Call it after the agent's own
// callback: until then the agent answers from the table before the change.
func (r *relaying) changed(change node.Change) {
	if change.Served {
		r.askers.changed()
		r.Recheck()
	}
}

// drained waits until no connection of another node leads to a task.
func (r *relaying) drained(ctx context.Context, task string) error {
	if r == nil {
		return nil
	}
	return r.Drained(ctx, task)
}

// openRelay opens the listener for connections of other nodes, unless the options turn it off.
func (h *Host) openRelay() error {
	if h.Own == nil || h.RelayListen == "" || h.RelayListen == off {
		return nil
	}
	listener, err := net.Listen("tcp", h.RelayListen)
	if errors.Is(err, syscall.EADDRINUSE) && h.RelayListen == DefaultRelayListen {
		if listener, err = net.Listen("tcp", ":0"); err == nil { //nolint:gosec // who asks shows a certificate of the cluster
			h.Logger.Warn("another program has the port for other nodes' connections; a free one is used", "address",
				listener.Addr().String())
		}
	}
	if err != nil {
		return portowner.Refused(h.RelayListen, "--relay-listen", err)
	}
	h.onStop(func() error { _ = listener.Close(); return nil }) // closed already if it ran
	others := &askers{read: h.Control.Relays}
	may := func(machine authority.Machine, task string, port int, protocol string) error {
		select {
		case <-h.Control.Synced(): // before that, nothing is known, and the first listing isn't announced as a change
		default:
			return relay.ErrEarly
		}
		return mayAsk(others.known(), machine, task == "" || h.agent.AtEvery(task, port, protocol))
	}
	h.relay = &relaying{listener: listener, askers: others, Relay: relay.New(relay.Options{
		Own: *h.Own, May: may, Logger: h.Logger,
		Endpoint: func(task string, port int, protocol string) (string, error) {
			return h.agent.Endpoint(task, port, protocol)
		},
	})}
	return nil
}

// askers are the other nodes as they were when the last change was announced.
type askers struct {
	read func() map[string]node.Relay

	mu    sync.Mutex
	nodes map[string]node.Relay
	fresh bool
}

func (a *askers) changed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = false
}

func (a *askers) known() map[string]node.Relay {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.fresh {
		a.fresh = true // set before the read, so that a change after it is announced too
		a.nodes = a.read()
	}
	return a.nodes
}

// mayAsk returns the reason why a machine may not open a connection to the named target, or nil. The servers decide
// which machines are nodes, and which of these may connect to every target of ingresses. The others may connect only to
// targets of a port that every node serves.
func mayAsk(others map[string]node.Relay, machine authority.Machine, every bool) error {
	known, is := others[machine.Node]
	switch {
	case !is || known.UID != machine.UID:
		return fmt.Errorf("the machine is not known here as node %s of the cluster", machine.Node)
	case !known.Asks && !every:
		return fmt.Errorf("node %s serves no ingresses, and no port of every node leads there", machine.Node)
	}
	return nil
}

// relayAddress returns the address at which other nodes request connections to this one's pods. A server that listens
// on loopback only has nodes on its own machine.
func (h *Host) relayAddress() netip.AddrPort {
	if h.Relay != nil {
		return h.Relay(h.agent.Endpoint)
	}
	address := h.outside()
	if h.relay == nil {
		return netip.AddrPortFrom(address, 0)
	}
	if !address.IsValid() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	at, _ := netip.ParseAddrPort(h.relay.listener.Addr().String())
	return netip.AddrPortFrom(address, at.Port())
}

// relayed returns the function that connects to pods of other nodes; nil if this machine can't.
func (h *Host) relayed() ingress.Relayed {
	if h.Own == nil {
		return nil
	}
	return func(ctx context.Context, conn net.Conn, to relay.Target) (*tls.Conn, error) {
		return relay.Open(ctx, *h.Own, conn, to)
	}
}

// reachTime bounds one attempt to reach another node.
const reachTime = 3 * time.Second

// reach returns the function that tests the relay of another node; nil if this machine can't use relays, and in
// simulations.
func (h *Host) reach() func(context.Context, relay.Target, netip.AddrPort) error {
	if h.Own == nil || h.Relay != nil {
		return nil
	}
	return func(ctx context.Context, to relay.Target, at netip.AddrPort) error {
		ctx, cancel := context.WithTimeout(ctx, reachTime)
		defer cancel()
		raw, err := new(net.Dialer).DialContext(ctx, "tcp", at.String())
		if err != nil {
			return fmt.Errorf("%s: %w", at, innermost(err))
		}
		conn, err := relay.Open(ctx, *h.Own, raw, to)
		if err != nil {
			return fmt.Errorf("%s: %w", at, innermost(err))
		}
		return conn.Close()
	}
}

// innermost leaves out the ports of the connection, which differ each time.
func innermost(err error) error {
	if op := new(net.OpError); errors.As(err, &op) {
		return op.Err
	}
	return err
}
