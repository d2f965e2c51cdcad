package servingcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"tend.dev/tend/internal/platform/pki"
)

var (
	noon  = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	names = []string{"webhook.ns.svc", "webhook.ns.svc.cluster.local", "127.0.0.1"}
)

const day = 24 * time.Hour

// plan returns the result of Plan, after checking that an API server would accept it at that time. trusted holds the
// certificates that the API server trusts.
func plan(t *testing.T, stored map[string][]byte, trusted []byte, now time.Time) (map[string][]byte, time.Time) {
	t.Helper()
	data, again, err := Plan(stored, names, now)
	if err != nil {
		t.Fatal(err)
	}
	if trusted == nil {
		trusted = data[keyAuthority]
	}
	leaf := accepted(t, data, trusted, now)
	if !again.After(now) || again.After(leaf.NotAfter) {
		t.Errorf("at %s it looks again at %s, and the certificate ends at %s", now, again, leaf.NotAfter)
	}
	return data, again
}

// accepted checks that an API server accepts the serving certificate, and returns it.
func accepted(t *testing.T, data map[string][]byte, trusted []byte, now time.Time) *x509.Certificate {
	t.Helper()
	roots := x509.NewCertPool()
	for rest := trusted; len(rest) > 0; { // an API server refuses a bundle with anything else in it
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			t.Fatalf("it can't be trusted: %s", trusted)
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		roots.AddCert(authority)
	}
	pair, err := tls.X509KeyPair(data[keyCertificate], data[keyKey])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			t.Errorf("at %s: %v", now, err)
		}
	}
	return pair.Leaf
}

// TestRenewal: for nine years the certificate is renewed before it ends, without a change of the trusted authority.
// Then another authority is trusted beside the previous one.
func TestRenewal(t *testing.T) {
	data, again := plan(t, nil, nil, noon)
	if same, _ := plan(t, data, nil, again.Add(-time.Second)); !bytes.Equal(same[keyCertificate], data[keyCertificate]) {
		t.Error("it is renewed too early")
	}
	trusted := data[keyAuthority]
	for again.Before(noon.Add(authorityLife - 2*certificateLife)) {
		next, later := plan(t, data, trusted, again)
		if bytes.Equal(next[keyCertificate], data[keyCertificate]) {
			t.Fatalf("it is not renewed at %s", again)
		}
		data, again = next, later
	}
	before := data
	for bytes.Equal(data[keyAuthority], trusted) {
		before = data
		data, again = plan(t, data, nil, again)
	}
	if !bytes.HasSuffix(data[keyAuthority], trusted) {
		t.Error("the authority before is trusted no longer")
	}
	accepted(t, before, data[keyAuthority], again.Add(-2*certificateLife/3)) // a replica that has not switched yet
}

// TestUnusable: a certificate that is damaged, for other names, of another authority or not valid yet is replaced.
func TestUnusable(t *testing.T) {
	good, _ := plan(t, nil, nil, noon)
	other, _ := plan(t, nil, nil, noon)
	foreign, _, err := Plan(nil, []string{"another.ns.svc"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	future, _, err := Plan(nil, names, noon.Add(30*day))
	if err != nil {
		t.Fatal(err)
	}
	with := func(keys map[string][]byte) map[string][]byte {
		data := map[string][]byte{}
		for key, value := range good {
			data[key] = value
		}
		for key, value := range keys {
			data[key] = value
		}
		return data
	}
	damaged := pki.CertificatePEM([]byte("x"))
	for name, stored := range map[string]map[string][]byte{
		"empty":               {},
		"no certificate":      with(map[string][]byte{keyCertificate: nil}),
		"no authority":        with(map[string][]byte{keyAuthority: []byte("x")}),
		"a key in its place":  with(map[string][]byte{keyAuthority: good[keySigner]}),
		"a damaged one":       with(map[string][]byte{keyAuthority: damaged}),
		"a damaged second":    with(map[string][]byte{keyAuthority: append(bytes.Clone(good[keyAuthority]), damaged...)}),
		"no signer":           with(map[string][]byte{keySigner: nil}),
		"the key of another":  with(map[string][]byte{keyKey: other[keyKey]}),
		"another's signature": with(map[string][]byte{keyCertificate: other[keyCertificate], keyKey: other[keyKey]}),
		"other names":         foreign,
		"of the future":       future,
	} {
		if data, _ := plan(t, stored, nil, noon); same(data, stored) {
			t.Errorf("%s: it is kept", name)
		}
	}
}
