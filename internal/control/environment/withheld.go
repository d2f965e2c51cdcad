package environment

import (
	"bytes"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

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
				keys = Withheld(ingress.Value).from(object)
			}
			return keys
		}
		for record := range s.Prefix(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: b.Scope})) {
			if ingress, ok := record.Value.(*api.Object); ok {
				keys = append(keys, Withheld(ingress).from(object)...)
			}
		}
		return keys
	}
}

// Certificate names the config keys that an ingress withholds; the zero value names none.
type Certificate struct {
	certificate, key string
	// only is the creator whose objects alone the keys are withheld from; empty for everyone's.
	only string
}

// Withheld returns what an ingress withholds from containers; nothing for any other object.
func Withheld(object *api.Object) Certificate {
	if object == nil || object.Kind != api.KindIngress || !bytes.Contains(object.Spec, []byte(`"certificate"`)) {
		return Certificate{}
	}
	spec, err := api.DecodeSpec[api.IngressSpec](*object)
	if err != nil || spec.TLS == nil || spec.TLS.Certificate == "" {
		return Certificate{}
	}
	return Certificate{spec.TLS.Certificate, spec.TLS.Key, source.ChangesOnly(*object)}
}

func (c Certificate) from(reader api.Object) []string {
	if c.certificate == "" || c.only != "" && c.only != reader.Creator() {
		return nil
	}
	return []string{c.certificate, c.key}
}
