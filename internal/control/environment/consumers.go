package environment

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// BucketOf returns the bucket that a key of the store belongs to; false for other keys.
func BucketOf(key string) (env.Bucket, bool) {
	scope, name, ok := records.ParseConfig(key)
	return env.Bucket{Scope: scope, Name: name}, ok
}

// Consumers returns the objects of a kind whose environment includes a bucket.
func Consumers(s records.Snapshot, kind api.Kind, bucket env.Bucket) []records.Read[api.Object] {
	var out []records.Read[api.Object]
	for object := range s.Objects(kind) {
		if env.ReadBy(*object.Value, bucket) {
			out = append(out, object)
		}
	}
	return out
}
