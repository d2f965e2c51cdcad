package environment

import (
	"bytes"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/layout"
)

// Reads says whether the environment of an object is made of a bucket among others.
func Reads(object api.Object, bucket env.Bucket) bool {
	if bucket.Scope == object.Scope && (bucket.Name == "" || bucket.Name == object.Name) {
		return true
	}
	if !bytes.Contains(object.Spec, []byte(`"env_from"`)) {
		return false
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	return err == nil && env.Reads(object.Ref(), spec.EnvFrom, bucket)
}

// BucketOf is the bucket a key of the store belongs to; false for other keys.
func BucketOf(key string) (env.Bucket, bool) {
	scope, name, ok := layout.ParseConfig(key)
	return env.Bucket{Scope: scope, Name: name}, ok
}

// Consumers are the objects of a kind whose environment is made of a bucket among others.
func Consumers(s layout.Snapshot, kind api.Kind, bucket env.Bucket) []layout.Read[api.Object] {
	var out []layout.Read[api.Object]
	for object := range s.Objects(kind) {
		if Reads(*object.Value, bucket) {
			out = append(out, object)
		}
	}
	return out
}
