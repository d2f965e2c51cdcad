package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// ofServer is the prefix that marks the machine of a server, whose node doesn't join.
const ofServer = "server:"

// machineOf returns the machine that a node's name belongs to, or "".
func machineOf(member records.Read[records.Member]) string {
	switch {
	case !member.Exists():
		return ""
	case member.Value.Server != "":
		return ofServer + member.Value.Server
	}
	return member.Value.UID
}

// enterSelf records, among several servers, that this server's node belongs to this machine: two agents of one name
// would run the same tasks. It returns an error if the name belongs to another machine.
func (d *daemon) enterSelf(ctx context.Context) error {
	if !d.several() {
		return nil
	}
	key, own := records.MemberKey(d.Node), records.Member{Server: d.Name, JoinedAt: d.Now().UTC()}
	member, err := readStored[records.Member](ctx, d.store, key)
	switch {
	case err != nil:
		return fmt.Errorf("record this machine: %w", err)
	case machineOf(member) == ofServer+d.Name:
		return nil
	}
	node := nodeOf(d.Node, member)
	if refused := membership.CheckNode(d.Name, node, d.serverList(node)); refused != nil {
		return refused
	}
	if _, err := records.NewTxn("member.enter").If(key, member.Modified).Put(key, own).Commit(ctx, d.store); err != nil {
		return fmt.Errorf("record this machine: %w", err)
	}
	return nil
}

// readStored reads a record from the store itself, since a server's view may lag behind.
func readStored[T any](ctx context.Context, s store.Store, key string) (records.Read[T], error) {
	entry, err := s.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return records.Read[T]{}, nil
	}
	if err != nil {
		return records.Read[T]{}, err
	}
	value, err := records.Decode(key, entry.Value)
	record, _ := value.(*T)
	return records.Read[T]{Value: record, Modified: entry.Modified}, err
}

// member returns the machine of a connection, if it still has its name. Any machine with a certificate may use a name
// without a record, which a restored store may have lost, except the name of this server's own node.
func (d *daemon) member(state tls.ConnectionState) (authority.Machine, error) {
	m, err := authority.MachineOf(state)
	if err != nil {
		return m, err
	}
	member := d.snapshot().Member(m.Node)
	switch {
	case d.host != nil && m.Node == d.Node && m.UID != ofServer+d.Name:
		return m, fmt.Errorf("node %s is this server's own: join again under another name (tend nodes add)", m.Node)
	case !member.Exists() || machineOf(member) == m.UID:
		return m, nil
	case member.Value.Removed:
		return m, fmt.Errorf("node %s was removed from the cluster: to join again, run the command of `tend nodes add` on this machine", m.Node)
	}
	return m, fmt.Errorf("another machine has joined as %s since: join again under another name (tend nodes add)", m.Node)
}

// memberOn returns the node of a connection. The connection is closed once the node's name passes to another machine;
// left must be called when the connection has ended.
func (d *daemon) memberOn(conn *tls.Conn) (node string, left func(), err error) {
	state := conn.ConnectionState()
	m, err := authority.MachineOf(state)
	if err != nil {
		return "", func() {}, err
	}
	connlimit.Note(conn, http.StateActive) // never close it to make room, although it sends no HTTP request
	left = d.links.add(m, conn)
	if !d.read(context.Background()) {
		err = errors.New(errNotRead.Detail)
	} else if _, err = d.member(state); err == nil && !d.nodeListener.desk.Authority.Takes(&state) {
		err = fmt.Errorf("the certificate of node %s is from before the cluster's authority was replaced", m.Node)
	}
	if err != nil {
		left()
		return "", func() {}, err
	}
	return m.Node, left, nil
}

// errNotRead is the refusal of a server that hasn't read its members yet.
var errNotRead = &api.Problem{Status: http.StatusServiceUnavailable, Title: "Behind",
	Detail: "this server has not read its store yet",
	Next:   "try again in a moment, or ask another server"}

// read reports whether this server has read its store: before that, removed machines look like members, and taken names
// look free. It waits a moment, so that nodes reconnect at once after a restart.
func (d *daemon) read(ctx context.Context) bool {
	select {
	case <-d.view.Synced():
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, behindTime)
	defer cancel()
	return d.awaitView(ctx)
}

// whenRead refuses requests until this server has read its store.
func (d *daemon) whenRead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.read(r.Context()) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		wire.Fail(w, errNotRead)
	})
}

// memberOf returns the node of a request. The connection is closed once the node's name passes to another machine.
func (d *daemon) memberOf(r *http.Request) (string, error) {
	if r.TLS == nil {
		return "", fmt.Errorf("%s: no TLS", r.RemoteAddr)
	}
	if conn, ok := r.Context().Value(connection{}).(net.Conn); ok {
		if m, err := authority.MachineOf(*r.TLS); err == nil {
			d.links.add(m, conn)
		}
	}
	m, err := d.member(*r.TLS)
	return m.Node, err
}
