package verbs

import (
	"context"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// ConfigReader is the reader of a bucket's values.
type ConfigReader struct {
	// Merged adds the values of an app's scope, below the app's own.
	Merged bool
	// Containers is the object whose containers read: they get what their environment may have. Default: another
	// reader, who gets everything.
	Containers api.Ref
	// Actor is logged.
	Actor string
}

// ConfigValues returns the values of a bucket in plain text.
func (s *Service) ConfigValues(ctx context.Context, bucket Bucket, by ConfigReader) (map[string]string, error) {
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
	from := []env.Bucket{env.Bucket(bucket)}
	if by.Merged && bucket.Name != "" {
		from = []env.Bucket{{Scope: bucket.Scope}, env.Bucket(bucket)}
	}
	out, err := s.readBuckets(snap, from, by.Containers)
	if err == nil && len(out) > 0 {
		s.opts.Logger.Info("config read", "actor", by.Actor, "scope", bucket.Scope, "name", bucket.Name, "count", len(out))
	}
	return out, err
}

// readBuckets returns the values of buckets, lowest first, as the containers of an object may read them; with the zero
// value all of them.
func (s *Service) readBuckets(
	snap records.Snapshot, from []env.Bucket, containers api.Ref,
) (map[string]string, error) {
	values := func(b env.Bucket) (map[string]string, error) { return s.openBucket(snap, Bucket(b)) }
	if containers == (api.Ref{}) {
		return env.Readable(api.Container{}, from, env.Buckets{Values: values})
	}
	reader := snap.Object(containers)
	if !reader.Exists() {
		return nil, notFound("containers read config while their object is there", "%s is gone", containers)
	}
	return environment.Readable(snap, *reader.Value, from, values)
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
