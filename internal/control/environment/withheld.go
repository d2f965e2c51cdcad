package environment

import (
	"bytes"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/records"
)

// certificateKeys returns the keys of a bucket that ingresses name as their certificate and its private key. An ingress
// takes them from the bucket of its own name, or of its scope.
func certificateKeys(s records.Snapshot) func(env.Bucket) []string {
	return func(b env.Bucket) (keys []string) {
		if b.Name != "" {
			if object := s.Object(api.Ref{Kind: api.KindIngress, Scope: b.Scope, Name: b.Name}); object.Exists() {
				keys = CertificateKeys(object.Value)
			}
			return keys
		}
		for record := range s.Prefix(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: b.Scope})) {
			if object, ok := record.Value.(*api.Object); ok {
				keys = append(keys, CertificateKeys(object)...)
			}
		}
		return keys
	}
}

// CertificateKeys returns the config keys that an ingress names; none for anything else.
func CertificateKeys(object *api.Object) []string {
	if object == nil || object.Kind != api.KindIngress || !bytes.Contains(object.Spec, []byte(`"certificate"`)) {
		return nil
	}
	spec, err := api.DecodeSpec[api.IngressSpec](*object)
	if err != nil || spec.TLS == nil || spec.TLS.Certificate == "" {
		return nil
	}
	return []string{spec.TLS.Certificate, spec.TLS.Key}
}
