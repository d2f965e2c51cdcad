package daemon

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"

	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// connection is the key of a request's connection in its context.
type connection struct{}

// links are the connections of machines. When a name passes to another machine, the former one loses them: each request
// is checked by itself, but a stream lasts. The zero value is ready to use.
type links struct {
	mu sync.Mutex
	of map[string]map[net.Conn]link // by node
	// added counts connections.
	added int
}

// link is a connection of a machine: its uid, and its sequence number.
type link struct {
	uid string
	nth int
}

// add records a connection of a machine until left is called. If the node already has boundary.Connections, the oldest
// is closed: it may be dead without having been closed.
func (l *links) add(m authority.Machine, conn net.Conn) (left func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]map[net.Conn]link{}
	}
	if l.of[m.Node] == nil {
		l.of[m.Node] = map[net.Conn]link{}
	}
	conns := l.of[m.Node]
	if _, known := conns[conn]; !known {
		l.added++
		conns[conn] = link{m.UID, l.added}
	}
	if len(conns) > boundary.Connections {
		oldest := conn
		for other := range conns {
			if conns[other].nth < conns[oldest].nth {
				oldest = other
			}
		}
		delete(conns, oldest)
		closeSoon(oldest)
	}
	return func() { l.remove(m.Node, conn) }
}

func (l *links) remove(node string, conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.of[node], conn); len(l.of[node]) == 0 {
		delete(l.of, node)
	}
}

// gone forgets a connection that has ended.
func (l *links) gone(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for node, conns := range l.of {
		if delete(conns, conn); len(conns) == 0 {
			delete(l.of, node)
		}
	}
}

// cut closes the connections of a node, apart from those of a machine.
func (l *links) cut(node, machine string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn, link := range l.of[node] {
		if link.uid != machine {
			closeSoon(conn)
		}
	}
}

// cutAll closes the connections of all machines: each connects again with its present certificate, if that is still
// accepted.
func (l *links) cutAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conns := range l.of {
		for conn := range conns {
			closeSoon(conn)
		}
	}
}

// closeSoon closes a connection in the background, since closing may wait for a write.
func closeSoon(conn net.Conn) {
	recovery.Go(func() { _ = conn.Close() })
}

// watchMembers closes the connections of machines whose name has passed to another machine.
func (d *daemon) watchMembers(change view.Change) {
	node, ok := strings.CutPrefix(change.Key, records.MembersPrefix)
	if !ok || change.Deleted {
		return // any machine may use a name without a record
	}
	d.links.cut(node, machineOf(d.snapshot().Member(node)))
}

// inContext and ended are the callbacks of the listener for nodes.
func (l *links) inContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, conn)
}

func (l *links) ended(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		l.gone(conn)
	}
}
