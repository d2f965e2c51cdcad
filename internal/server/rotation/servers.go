package rotation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/store/records"
)

// Servers is the authority of the certificates with which the stores of servers connect. A store reads its trusted
// authorities when it starts, so a rotation requires two restarts of each server.
type Servers struct {
	// Identity is this server's identity; nil if it is alone, or its store is an external etcd.
	Identity         *peer.Identity
	Encrypt, Decrypt func([]byte) ([]byte, error)
	Now              func() time.Time
}

var _ Key = Servers{}

// Info implements Key.
func (k Servers) Info(records.Snapshot) api.Key {
	out := api.Key{Name: api.KeyServers, What: "issues the certificates with which the servers' stores reach each other"}
	if k.Identity == nil {
		out.Note = "the store of this server has no listener for others"
		return out
	}
	out.Fingerprint = k.Identity.Issuer()
	return out
}

// Begin implements Key.
func (k Servers) Begin(_ records.Snapshot, r *records.Rotation, _ *records.Txn) error {
	next, err := authority.Found("Tend servers", k.Now)
	if err != nil {
		return err
	}
	text, err := next.Encode()
	if err != nil {
		return err
	}
	r.Old, r.New = k.Identity.Issuer(), next.Fingerprint()
	r.Sealed, err = k.Encrypt(text)
	return err
}

// Follow implements Key.
func (k Servers) Follow(_ records.Snapshot, r *records.Rotation) (records.Holding, error) {
	err := k.follow(r)
	out := records.Holding{Knows: k.Identity.Trusted(), Uses: k.Identity.Uses()}
	if r != nil && (r.Phase == api.KeySpreads && !slices.Contains(out.Knows, r.New) ||
		r.Phase == api.KeyIsForgotten && slices.Contains(out.Knows, r.Old)) {
		out.Next = "start it again (its store reads whom it trusts when it starts), one server after the other; what runs goes on"
	}
	return out, err
}

func (k Servers) follow(r *records.Rotation) error {
	if r == nil {
		return nil
	}
	if r.Phase == api.KeyIsForgotten {
		return k.Identity.Trust()
	}
	text, err := k.Decrypt(r.Sealed)
	if err != nil {
		return fmt.Errorf("the new authority of servers: %w", err)
	}
	if r.Phase == api.KeyMoves {
		return k.Identity.Issue(text)
	}
	return k.Identity.Trust(text)
}

// Advance implements Key.
func (Servers) Advance(_ records.Snapshot, r *records.Rotation, _ *records.Txn) error {
	if r.Phase == api.KeyIsForgotten {
		r.Sealed = nil
	}
	return nil
}

// Parties implements Key: only servers have such certificates.
func (Servers) Parties(records.Snapshot) []rekey.Party { return nil }

// Made implements Key.
func (Servers) Made() string { return "" }

// Renew implements Key: each server makes its certificate itself.
func (Servers) Renew(context.Context, Store, records.Rotation) (int, error) { return 0, nil }
