package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/secret"
	"tend.dev/tend/internal/store"
)

// cluster is the record under layout.ClusterKey: the permanent identity of this store.
type cluster struct {
	// UID is a label of every container: an agent touches only those of its own cluster.
	UID string `json:"uid"`
	// KeyFingerprint identifies the right key file.
	KeyFingerprint string `json:"keyFingerprint"`
}

// identify reads the store's identity, or creates one on its first boot, and opens the keys that belong to it.
func identify(ctx context.Context, s store.Store, root string) (cluster, *secret.Keys, error) {
	path := filepath.Join(root, "secret.key")
	entry, err := s.Get(ctx, layout.ClusterKey)
	if errors.Is(err, store.ErrNotFound) {
		return founded(ctx, s, path)
	}
	if err != nil {
		return cluster{}, nil, fmt.Errorf("read the cluster's record: %w", err)
	}
	known := cluster{}
	if err := json.Unmarshal(entry.Value, &known); err != nil {
		return cluster{}, nil, fmt.Errorf("decode the cluster's record: %w", err)
	}
	keys, err := secret.Open(path, known.KeyFingerprint)
	return known, keys, err
}

func founded(ctx context.Context, s store.Store, path string) (cluster, *secret.Keys, error) {
	keys, err := secret.Open(path, "")
	if err != nil {
		return cluster{}, nil, err
	}
	fresh := cluster{UID: control.RandomHex(8), KeyFingerprint: keys.Fingerprint()}
	_, err = layout.NewTxn("cluster.found").If(layout.ClusterKey, 0).
		Put(layout.ClusterKey, fresh).Put(layout.SchemaKey, schemaVersion).Commit(ctx, s)
	if err != nil {
		return cluster{}, nil, fmt.Errorf("write the cluster's record: %w", err)
	}
	return fresh, keys, nil
}

// schemaVersion is the layout this binary writes.
const schemaVersion = "1"

// checkSchema refuses a store that a newer Tend wrote: misreading it would be worse than not starting.
func checkSchema(ctx context.Context, s store.Store) error {
	entry, err := s.Get(ctx, layout.SchemaKey)
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

// remembered returns a small fact of this machine kept in a file: what is asked for wins on the first use, and
// afterwards the file does, so that a renamed host or a changed flag doesn't orphan what runs.
func remembered(root, file, asked, fallback string) (string, error) {
	path := filepath.Join(root, file)
	content, err := os.ReadFile(path)
	kept := strings.TrimSpace(string(content))
	switch {
	case err == nil && kept != "" && asked != "" && asked != kept:
		return "", fmt.Errorf("this root was first used with %s %q, not %q: use another --root, or empty it (%s)", file, kept, asked, path)
	case err == nil && kept != "":
		return kept, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if asked == "" {
		asked = fallback
	}
	if err := os.WriteFile(path, []byte(asked+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return asked, nil
}

// rememberedOr returns the runtime a root was first used with, or the fallback where it is new.
func rememberedOr(root, fallback string) string {
	content, err := os.ReadFile(filepath.Join(root, "runtime"))
	if kept := strings.TrimSpace(string(content)); err == nil && kept != "" {
		return kept
	}
	return fallback
}
