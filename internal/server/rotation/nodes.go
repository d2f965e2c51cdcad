package rotation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/store/records"
)

// Nodes is the authority of nodes, which also issues the certificates that servers show them.
type Nodes struct {
	Cluster string
	// Authority is the authority of this server's listener; nil without a listener.
	Authority *authority.Authority
	// Encrypt and Decrypt use the cluster's keys.
	Encrypt, Decrypt func([]byte) ([]byte, error)
	// Cut ends the connections that were made with certificates of a former authority.
	Cut func()
	Now func() time.Time

	mu sync.Mutex
	at int64 // the revision of the record that the authority was read from
}

var _ Key = (*Nodes)(nil)

// Info implements Key.
func (k *Nodes) Info(records.Snapshot) api.Key {
	out := api.Key{
		Name: api.KeyNodes, What: "issues the certificates of nodes, and those that servers show to them and to people",
		After: "tokens that were made before and name the old authority are refused: make others (tend nodes add; tend tokens add, for people who reach a server without a certificate of its own)",
	}
	if k.Authority == nil {
		out.Note = "this server has no listener for nodes or people"
		return out
	}
	out.Fingerprint = k.Authority.Fingerprint()
	return out
}

// Begin implements Key.
func (k *Nodes) Begin(snap records.Snapshot, r *records.Rotation, txn *records.Txn) error {
	issuers, modified, err := k.stored(snap)
	if err != nil {
		return err
	}
	if len(issuers) != 1 {
		return &api.Problem{Status: http.StatusConflict, Title: "Conflict",
			Detail: "the authority of nodes is being rotated", Next: "tend keys"}
	}
	next, err := authority.Found("Tend nodes of "+k.Cluster, k.Now)
	if err != nil {
		return err
	}
	r.Old, r.New = issuers[0].Fingerprint(), next.Fingerprint()
	return k.put(txn, modified, issuers[0], next)
}

// stored reads the authorities in the store, each by itself.
func (k *Nodes) stored(snap records.Snapshot) (issuers []*authority.Authority, modified int64, err error) {
	record, ok := snap.Get(records.AuthorityKey)
	sealed, isText := record.Value.([]byte)
	if !ok || !isText {
		return nil, 0, errors.New("the store has no authority of nodes")
	}
	text, err := k.Decrypt(sealed)
	if err != nil {
		return nil, 0, fmt.Errorf("the authority of nodes: %w", err)
	}
	both, err := authority.Open(text, k.Now)
	if err != nil {
		return nil, 0, err
	}
	return both.Each(), record.Modified, nil
}

// put stores authorities. The first one issues; certificates of all are accepted.
func (k *Nodes) put(txn *records.Txn, modified int64, issuers ...*authority.Authority) error {
	var text []byte
	for _, issuer := range issuers {
		one, err := issuer.Encode()
		if err != nil {
			return err
		}
		text = append(text, one...)
	}
	sealed, err := k.Encrypt(text)
	if err != nil {
		return err
	}
	txn.If(records.AuthorityKey, modified).Put(records.AuthorityKey, sealed)
	return nil
}

// Follow implements Key.
func (k *Nodes) Follow(snap records.Snapshot, _ *records.Rotation) (records.Holding, error) {
	err := k.read(snap)
	return records.Holding{Knows: k.Authority.Fingerprints(), Uses: k.Authority.Fingerprint()}, err
}

func (k *Nodes) read(snap records.Snapshot) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	record, ok := snap.Get(records.AuthorityKey)
	if sealed, isText := record.Value.([]byte); ok && isText && record.Modified != k.at {
		text, err := k.Decrypt(sealed)
		if err != nil {
			return fmt.Errorf("the authority of nodes: %w", err)
		}
		before := k.Authority.Fingerprints()
		if err := k.Authority.Replace(text); err != nil {
			return err
		}
		now := k.Authority.Fingerprints()
		if k.at = record.Modified; slices.ContainsFunc(before, func(f string) bool { return !slices.Contains(now, f) }) {
			k.Cut()
		}
	}
	return nil
}

// Advance implements Key.
func (k *Nodes) Advance(snap records.Snapshot, r *records.Rotation, txn *records.Txn) error {
	issuers, modified, err := k.stored(snap)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(issuers, func(a *authority.Authority) bool { return a.Fingerprint() == r.New })
	if at < 0 {
		return fmt.Errorf("the store does not have the new authority %s", r.New)
	}
	next := issuers[at]
	if r.Phase == api.KeyIsForgotten {
		return k.put(txn, modified, next)
	}
	return k.put(txn, modified, append([]*authority.Authority{next}, slices.Delete(issuers, at, at+1)...)...)
}

// Parties implements Key: every machine that has joined as a node.
func (k *Nodes) Parties(snap records.Snapshot) (out []rekey.Party) {
	for node, member := range snap.Members() {
		if member.Removed || member.UID == "" {
			continue // the node belongs to a server, which has the authority itself, or is gone
		}
		p := rekey.Party{Name: "node " + node, Knows: member.Roots, Uses: member.Issuer}
		switch {
		case !snap.Alive(node):
			p.Next = "it is away: start it, or tend nodes remove " + node
		case len(member.Roots) == 0:
			p.Next = "its agent is too old: update it, or tend nodes remove " + node + " --force"
		}
		out = append(out, p)
	}
	return out
}

// Made implements Key.
func (*Nodes) Made() string { return "" }

// Renew implements Key: nodes ask for their certificates themselves.
func (*Nodes) Renew(context.Context, Store, records.Rotation) (int, error) { return 0, nil }
