package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/nodeapi/authority"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store"
)

// taken reports whether a node's name can't be joined under: it is this machine's own, or its node answers.
func (d *daemon) taken(node string) bool {
	snap := d.snapshot()
	return d.host != nil && node == d.Node || snap.Alive(node) || strings.HasPrefix(uidOf(snap, node), ofServer)
}

// ofServer begins what stands for the machine of a server, whose node doesn't join.
const ofServer = "server:"

// uidOf returns the machine that a node's name is of; empty if it has none.
func uidOf(snap records.Snapshot, node string) string {
	record, _ := snap.Get(records.MemberKey(node))
	uid, _ := record.Value.([]byte)
	return string(uid)
}

// enterSelf records that the node of this server is this machine, among several servers: two agents of one name would run the
// same tasks. It returns an error if the name is another machine's.
func (d *daemon) enterSelf(ctx context.Context) error {
	if !d.several() {
		return nil
	}
	key, own := records.MemberKey(d.Node), ofServer+d.Name
	known, err := d.store.Get(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return fmt.Errorf("record this machine: %w", err)
	case string(known.Value) == own:
		return nil
	case string(known.Value) != records.RemovedMember:
		return fmt.Errorf("another machine is node %s of this cluster: choose another name with --node, in an empty --root", d.Node)
	}
	if _, err := records.NewTxn("member.enter").If(key, known.Modified).Put(key, own).Commit(ctx, d.store); err != nil {
		return fmt.Errorf("record this machine: %w", err)
	}
	return nil
}

// enter records the machine that a name is of. The one that had it before is refused from then on: two would run the same
// tasks.
func (d *daemon) enter(ctx context.Context, m authority.Machine) error {
	key := records.MemberKey(m.Node)
	known, _ := d.snapshot().Get(key)
	revision, err := records.NewTxn("member.enter").If(key, known.Modified).Put(key, m.UID).Commit(ctx, guarded{d.store, d.pause})
	if errors.Is(err, store.ErrConflict) {
		return &api.Problem{Title: "NodeName", Status: http.StatusConflict, Detail: "another machine joins as " + m.Node + " at this moment",
			Next: "choose another name with --node"}
	}
	if err != nil {
		return fmt.Errorf("record the machine: %w", err)
	}
	return d.view.WaitFor(ctx, revision)
}

// member returns the machine of a connection, if its name is still its own. A name without a record, which a restored
// store may have lost, is that of any machine with a certificate.
func (d *daemon) member(state tls.ConnectionState) (authority.Machine, error) {
	m, err := authority.MachineOf(state)
	if err != nil {
		return m, err
	}
	switch uidOf(d.snapshot(), m.Node) {
	case "", m.UID:
		return m, nil
	case records.RemovedMember:
		return m, fmt.Errorf("node %s was removed from the cluster: join again (tend nodes add)", m.Node)
	}
	return m, fmt.Errorf("another machine has joined as %s since: join again under another name (tend nodes add)", m.Node)
}

// memberOn returns the node of a connection.
func (d *daemon) memberOn(state tls.ConnectionState) (string, error) {
	m, err := d.member(state)
	return m.Node, err
}

// memberOf returns the node of a request.
func (d *daemon) memberOf(r *http.Request) (string, error) {
	if r.TLS == nil {
		return "", fmt.Errorf("%s: no TLS", r.RemoteAddr)
	}
	return d.memberOn(*r.TLS)
}
