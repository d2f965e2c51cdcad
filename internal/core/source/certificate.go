package source

import (
	"bytes"

	"tend.dev/tend/api"
)

// Certificate names the config keys that an ingress withholds from containers; the zero value names none.
type Certificate struct {
	certificate, key string
	// only is the creator whose objects alone the keys are withheld from; empty for everyone's.
	only string
}

// CertificateOf returns what an ingress withholds; the zero value for any other object.
func CertificateOf(object *api.Object) Certificate {
	if object == nil || object.Kind != api.KindIngress || !bytes.Contains(object.Spec, []byte(`"certificate"`)) {
		return Certificate{}
	}
	spec, err := api.DecodeSpec[api.IngressSpec](*object)
	if err != nil || spec.TLS == nil || spec.TLS.Certificate == "" {
		return Certificate{}
	}
	return Certificate{spec.TLS.Certificate, spec.TLS.Key, ChangesOnly(*object)}
}

// WithheldFrom returns the keys that a reader of the ingress's buckets doesn't get.
func (c Certificate) WithheldFrom(reader api.Object) []string {
	if c.certificate == "" || c.only != "" && c.only != reader.Creator() {
		return nil
	}
	return []string{c.certificate, c.key}
}
