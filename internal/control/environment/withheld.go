package environment

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// Readable returns the values of some buckets, lowest first, that the containers of a stored object may read by a call:
// by the same rule as those of their environment.
func Readable(
	s records.Snapshot, reader api.Object, from []env.Bucket, values func(env.Bucket) (map[string]string, error),
) (map[string]string, error) {
	spec, err := api.DecodeWorkload(reader.Kind, reader.Spec)
	if err != nil {
		return nil, err
	}
	return env.Readable(spec.Container, from, env.Buckets{Values: values, Withheld: certificateKeys(s, reader.Ref())})
}

// certificateKeys returns the keys of a bucket that ingresses name as their certificate and its private key. An ingress
// takes them from the bucket of its own name, or of its scope, and withholds them from a reader that its declarer may
// change.
func certificateKeys(s records.Snapshot, reader api.Ref) func(env.Bucket) []string {
	object := api.Object{Kind: reader.Kind, Scope: reader.Scope, Name: reader.Name}
	if stored := s.Object(reader); stored.Exists() {
		object = *stored.Value
	}
	return func(b env.Bucket) (keys []string) {
		if b.Name != "" {
			if ingress := s.Object(api.Ref{Kind: api.KindIngress, Scope: b.Scope, Name: b.Name}); ingress.Exists() {
				keys = source.CertificateOf(ingress.Value).WithheldFrom(object)
			}
			return keys
		}
		for record := range s.Prefix(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: b.Scope})) {
			if ingress, ok := record.Value.(*api.Object); ok {
				keys = append(keys, source.CertificateOf(ingress).WithheldFrom(object)...)
			}
		}
		return keys
	}
}
