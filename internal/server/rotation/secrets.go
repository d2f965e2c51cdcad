package rotation

import (
	"context"
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// Secrets are the keys that encrypt secrets in the store.
type Secrets struct {
	*secret.Keys
	// Retire stores the former keys, with which data that only this machine reads stays readable.
	Retire func(text []byte) error
}

var _ Key = Secrets{}

// Info implements Key.
func (k Secrets) Info(records.Snapshot) api.Key {
	return api.Key{
		Name: api.KeySecrets, What: "encrypts secrets, releases and certificates in the store", Fingerprint: k.Fingerprint(),
		After: "who had the old key may have read the secrets themselves: set others (tend config set); containers that plugins made call back again once they are restarted (tend restart)",
	}
}

// Begin implements Key.
func (k Secrets) Begin(_ records.Snapshot, r *records.Rotation, _ *records.Txn) error {
	text, fingerprint, err := k.Next()
	if err != nil {
		return err
	}
	r.Old, r.New = k.Fingerprint(), fingerprint
	r.Sealed, err = k.Encrypt(text)
	return err
}

// Follow implements Key.
func (k Secrets) Follow(snap records.Snapshot, r *records.Rotation) (records.Holding, error) {
	err := k.follow(snap, r)
	return records.Holding{Knows: k.Fingerprints(), Uses: k.Fingerprint()}, err
}

func (k Secrets) follow(snap records.Snapshot, r *records.Rotation) error {
	if r == nil {
		return nil
	}
	if len(r.Sealed) > 0 {
		text, err := k.Decrypt(r.Sealed)
		if err == nil {
			err = k.Add(text)
		}
		if err != nil {
			return fmt.Errorf("the new keys: %w", err)
		}
	}
	if cluster := snap.Identity(); cluster.Exists() {
		if err := k.Use(cluster.Value.KeyFingerprint); err != nil {
			return err
		}
	}
	if r.Phase != api.KeyIsForgotten || k.Fingerprint() != r.New {
		return nil
	}
	if retired := k.Retired(); retired != nil {
		if err := k.Retire(retired); err != nil {
			return err
		}
	}
	return k.Forget()
}

// Advance implements Key.
func (k Secrets) Advance(snap records.Snapshot, r *records.Rotation, txn *records.Txn) error {
	switch r.Phase {
	case api.KeyMoves:
		cluster := snap.Identity()
		if !cluster.Exists() {
			return errors.New("the store has no record of its cluster")
		}
		next := *cluster.Value
		next.KeyFingerprint = r.New
		txn.If(records.ClusterKey, cluster.Modified).Put(records.ClusterKey, next)
	case api.KeyIsForgotten:
		r.Sealed = nil
	}
	return nil
}

// Parties implements Key: only servers have these keys.
func (Secrets) Parties(records.Snapshot) []rekey.Party { return nil }

// Made implements Key.
func (Secrets) Made() string { return "values still sealed with the old key" }

// Renew implements Key: it encrypts everything in the store that the old keys encrypted again.
func (k Secrets) Renew(ctx context.Context, by Store, _ records.Rotation) (left int, err error) {
	batch := batch{by: by}
	for page, after := (store.Page{More: true}), ""; page.More; {
		if page, err = by.List(ctx, "/", store.ListOptions{After: after, Limit: 100}); err != nil {
			return 0, err
		}
		for _, entry := range page.Entries {
			after = entry.Key
			if entry.Key == records.RotationKey(api.KeySecrets) {
				continue // it goes with the old keys
			}
			fresh, count, err := k.Reseal(entry.Value)
			if err == nil && count > 0 {
				err = batch.replace(ctx, entry, fresh)
			}
			if err != nil {
				return 0, fmt.Errorf("seal %s again: %w", entry.Key, err)
			}
			left += count
		}
	}
	return left, batch.commit(ctx)
}

// The bounds of one commit of re-encrypted values.
const (
	valuesAtOnce = 32
	bytesAtOnce  = 256 << 10
)

// batch collects values to replace, each on the condition that no one else has written it since it was read.
type batch struct {
	by    Store
	txn   store.Txn
	bytes int
}

func (b *batch) replace(ctx context.Context, entry store.Entry, value []byte) error {
	b.txn.Site = "key.reseal"
	b.txn.If = append(b.txn.If, store.Condition{Key: entry.Key, Modified: entry.Modified})
	b.txn.Do = append(b.txn.Do, store.Op{Key: entry.Key, Value: value, Lease: entry.Lease})
	if b.bytes += len(value); b.bytes < bytesAtOnce && len(b.txn.Do) < valuesAtOnce {
		return nil
	}
	return b.commit(ctx)
}

// commit replaces the collected values. Values that were written meanwhile are checked again later.
func (b *batch) commit(ctx context.Context) error {
	if len(b.txn.Do) == 0 {
		return nil
	}
	_, err := b.by.Commit(ctx, b.txn)
	b.txn, b.bytes = store.Txn{}, 0
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
