package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// identify reads the store's identity and opens the keys that belong to it. On the first boot it creates both.
func identify(ctx context.Context, s store.Store, root string) (records.Cluster, *secret.Keys, error) {
	path := filepath.Join(root, "secret.key")
	entry, err := s.Get(ctx, records.ClusterKey)
	if errors.Is(err, store.ErrNotFound) {
		return founded(ctx, s, path)
	}
	if err != nil {
		return records.Cluster{}, nil, fmt.Errorf("read the cluster's record: %w", err)
	}
	known := records.Cluster{}
	if err := json.Unmarshal(entry.Value, &known); err != nil {
		return records.Cluster{}, nil, fmt.Errorf("decode the cluster's record: %w", err)
	}
	keys, err := secret.Open(path, known.KeyFingerprint)
	return known, keys, err
}

// founded creates the store's identity and its keys, on the first boot.
func founded(ctx context.Context, s store.Store, path string) (records.Cluster, *secret.Keys, error) {
	keys, err := secret.Open(path, "")
	if err != nil {
		return records.Cluster{}, nil, err
	}
	fresh := records.Cluster{UID: control.RandomHex(8), KeyFingerprint: keys.Fingerprint()}
	_, err = records.NewTxn("cluster.found").If(records.ClusterKey, 0).
		Put(records.ClusterKey, fresh).Put(records.SchemaKey, schemaVersion).Commit(ctx, s)
	if err != nil {
		return records.Cluster{}, nil, fmt.Errorf("write the cluster's record: %w", err)
	}
	return fresh, keys, nil
}

// schemaVersion is the layout this binary writes.
const schemaVersion = "1"

// checkSchema refuses a store that a newer Tend wrote: misreading it would be worse than not starting.
func checkSchema(ctx context.Context, s store.Store) error {
	entry, err := s.Get(ctx, records.SchemaKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the store's schema version: %w", err)
	}
	if string(entry.Value) != schemaVersion {
		return fmt.Errorf("the store was written by another version of Tend (schema %s, this binary knows %s): "+
			"run that version or a newer one", entry.Value, schemaVersion)
	}
	return nil
}
