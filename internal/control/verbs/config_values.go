package verbs

import (
	"context"
	"fmt"
	"maps"

	"tend.dev/tend/internal/store/records"
)

// ConfigValues returns the values of a bucket in plain text; with merged, an app's over those of its scope. Who read
// them is logged.
func (s *Service) ConfigValues(
	ctx context.Context, bucket Bucket, merged bool, actor string,
) (map[string]string, error) {
	if s.opts.Open == nil {
		return nil, invalid("start the server with its key", "this server has no key to read values by")
	}
	if err := bucket.Check(); err != nil {
		return nil, err
	}
	snap, err := s.opts.Reader.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	from := []Bucket{bucket}
	if merged && bucket.Name != "" {
		from = []Bucket{{Scope: bucket.Scope}, bucket}
	}
	for _, b := range from {
		values, err := s.openBucket(snap, b)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, values)
	}
	if len(out) > 0 {
		s.opts.Logger.Info("config read", "actor", actor, "scope", bucket.Scope, "name", bucket.Name, "count", len(out))
	}
	return out, nil
}

func (s *Service) openBucket(snap records.Snapshot, bucket Bucket) (map[string]string, error) {
	values := map[string]string{}
	for record := range snap.Prefix(bucket.prefix()) {
		key := record.Key[len(bucket.prefix()):]
		sealed, ok := record.Value.([]byte)
		if !ok {
			return nil, fmt.Errorf("read %s of %s: it is unreadable", key, bucket)
		}
		plain, err := s.opts.Open(sealed)
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w: set the value again, or start the server with the key it was set under",
				key, bucket, err)
		}
		values[key] = string(plain)
	}
	return values, nil
}
