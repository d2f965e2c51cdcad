package rotation

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/store/certstore"
	"tend.dev/tend/internal/store/records"
)

// Ingress is the cluster's own authority for ingresses. Its certificates live seven days and are renewed at two thirds
// of that, so the move takes up to five days: time in which people have their clients trust the new root.
type Ingress struct {
	Certificates     *certstore.Storage
	Encrypt, Decrypt func([]byte) ([]byte, error)
	Now              func() time.Time

	mu sync.Mutex
	at [2]int64 // the revisions of the records that the roots were read from
	// roots are the fingerprints of the present root and of the former one, or empty.
	roots [2]string
	// left are the hosts whose certificates Renew found to be left at looked, sorted.
	left   []string
	looked time.Time
}

// countEvery is the interval between two counts of the certificates that are left.
const countEvery = time.Minute

var _ Key = (*Ingress)(nil)

// Info implements Key.
func (k *Ingress) Info(snap records.Snapshot) api.Key {
	out := api.Key{
		Name: api.KeyIngress, What: "signs the certificates of ingresses with provider = \"internal\"",
		Fingerprint: k.stored(snap)[0],
		After:       "clients that trusted the former root are to trust the new one: tend ingress ca",
	}
	if out.Fingerprint == "" {
		out.Note = "no ingress uses the cluster's own authority"
	}
	return out
}

// stored returns the fingerprints of the root and of the former one.
func (k *Ingress) stored(snap records.Snapshot) [2]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, name := range []string{certs.RootCertificate, certs.FormerRoot} {
		record, _ := snap.Get(certstore.Path(name))
		if record.Modified == k.at[i] {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), LookEvery)
		text, err := k.Certificates.Load(ctx, name)
		cancel()
		switch {
		case err == nil:
			k.roots[i] = fingerprintOf(text)
		case errors.Is(err, fs.ErrNotExist):
			k.roots[i] = ""
		default:
			continue // read again
		}
		k.at[i] = record.Modified
	}
	return k.roots
}

func fingerprintOf(certificate []byte) string {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

// Begin implements Key.
func (k *Ingress) Begin(snap records.Snapshot, r *records.Rotation, _ *records.Txn) error {
	certificate, key, err := certs.NewRoot(k.Now())
	if err != nil {
		return err
	}
	r.Old, r.New = k.stored(snap)[0], fingerprintOf(certificate)
	r.Sealed, err = k.Encrypt(append(certificate, key...))
	return err
}

// Follow implements Key: the servers have the roots in the store alone.
func (k *Ingress) Follow(snap records.Snapshot, r *records.Rotation) (records.Holding, error) {
	roots := k.stored(snap)
	out := records.Holding{Uses: roots[0], Knows: []string{roots[0]}}
	if roots[1] != "" {
		out.Knows = append(out.Knows, roots[1])
	}
	if r != nil && r.Phase == api.KeySpreads {
		out.Knows = append(out.Knows, r.New)
	}
	return out, nil
}

// Advance implements Key.
func (k *Ingress) Advance(_ records.Snapshot, r *records.Rotation, txn *records.Txn) error {
	if r.Phase == api.KeyIsForgotten {
		txn.Delete(certstore.Path(certs.FormerRoot))
		return nil
	}
	text, err := k.Decrypt(r.Sealed)
	if err != nil {
		return fmt.Errorf("the new root: %w", err)
	}
	_, key := pem.Decode(text)
	ctx, cancel := context.WithTimeout(context.Background(), LookEvery)
	defer cancel()
	former, err := k.Certificates.Load(ctx, certs.RootCertificate)
	if err != nil {
		return err
	}
	for name, value := range map[string][]byte{certs.RootCertificate: text[:len(text)-len(key)], certs.RootKey: key,
		certs.FormerRoot: former} {
		record, err := k.Certificates.Record(value)
		if err != nil {
			return err
		}
		txn.Put(certstore.Path(name), record)
	}
	r.Sealed = nil
	return nil
}

// Parties implements Key: there are none besides the servers, which sign for the proxies.
func (*Ingress) Parties(records.Snapshot) []rekey.Party { return nil }

// mostHosts is the number of hosts that are named if their certificates are left.
const mostHosts = 10

// Made implements Key.
func (k *Ingress) Made() string {
	of := ""
	if len(k.left) > 0 {
		of = " for " + strings.Join(k.left[:min(len(k.left), mostHosts)], ", ") + ","
	}
	return "certificates of the former root" + of +
		" each renewed within five days (have your clients trust the new one meanwhile: tend ingress ca)"
}

// Renew implements Key: proxies renew their certificates by themselves. It counts those that are left.
func (k *Ingress) Renew(ctx context.Context, _ Store, _ records.Rotation) (int, error) {
	if now := k.Now(); now.Sub(k.looked).Abs() >= countEvery {
		left, err := k.find(ctx)
		if err != nil {
			return 0, err
		}
		k.left, k.looked = left, now
	}
	return len(k.left), nil
}

// find returns the hosts whose certificates the former root signed. Certificates that a node stored without having them
// signed don't count.
func (k *Ingress) find(ctx context.Context) (left []string, err error) {
	text, err := k.Certificates.Load(ctx, certs.FormerRoot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	former, err := certificateOf(text)
	if err != nil {
		return nil, err
	}
	names, err := k.Certificates.List(ctx, "certificates/"+certs.Internal, true)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range names {
		site, found := strings.CutSuffix(path.Base(name), ".crt")
		if !found {
			continue
		}
		text, err := k.Certificates.Load(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if leaf, err := certificateOf(text); err == nil && leaf.NotAfter.After(k.Now()) &&
			leaf.CheckSignatureFrom(former) == nil {
			left = append(left, site)
		}
	}
	slices.Sort(left)
	return left, nil
}

func certificateOf(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}
