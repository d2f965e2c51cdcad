package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/nodeapi/authority"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store"
)

// taken reports whether a node's name can't be joined under: it is this machine's own, or its node answers.
func (d *daemon) taken(node string) bool {
	return d.host != nil && node == d.Node || d.snapshot().Alive(node)
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
	if record, ok := d.snapshot().Get(records.MemberKey(m.Node)); ok {
		uid, _ := record.Value.([]byte)
		if string(uid) == records.RemovedMember {
			return m, fmt.Errorf("node %s was removed from the cluster: join again (tend nodes add)", m.Node)
		}
		if string(uid) != m.UID {
			return m, fmt.Errorf("another machine has joined as %s since: join again under another name (tend nodes add)", m.Node)
		}
	}
	return m, nil
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
