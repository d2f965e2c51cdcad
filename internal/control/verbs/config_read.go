package verbs

import (
	"context"
	"fmt"
	"slices"

	"tend.dev/tend/internal/store/records"
)

// ConfigKeys returns the keys of a bucket, without values.
func ConfigKeys(snap records.Snapshot, bucket Bucket) []string {
	var keys []string
	for record := range snap.Prefix(bucket.prefix()) {
		keys = append(keys, record.Key[len(bucket.prefix()):])
	}
	return keys
}

// ConfigApps returns the names of the apps of a scope that have keys of their own, in order. The app itself may be
// gone.
func ConfigApps(snap records.Snapshot, scope string) []string {
	var names []string
	for record := range snap.Prefix(records.ConfigAppsPrefix(scope)) {
		if _, name, ok := records.ParseConfig(record.Key); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ConfigValue returns one value in plain text. It logs who read it.
func (s *Service) ConfigValue(ctx context.Context, bucket Bucket, key, actor string) (string, error) {
	if s.opts.Open == nil {
		return "", invalid("start the server with its key", "this server has no key to read values by")
	}
	if err := bucket.Check(); err != nil {
		return "", err
	}
	snap, err := s.opts.Reader.Fresh(ctx)
	if err != nil {
		return "", err
	}
	record, _ := snap.Get(bucket.prefix() + key)
	sealed, there := record.Value.([]byte)
	if !there || key == "" {
		return "", noKey(snap, bucket, key)
	}
	plain, err := s.opts.Open(sealed)
	if err != nil {
		return "", fmt.Errorf("read %s of %s: %w: set the value again, or start the server with the key it was set under",
			key, bucket, err)
	}
	s.opts.Logger.Info("config read", "actor", actor, "scope", bucket.Scope, "name", bucket.Name, "key", key)
	return string(plain), nil
}
