package local

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/store/records"
)

// internalProvider is the tls.provider of hosts whose certificates the cluster's own authority signs.
const internalProvider = "internal"

// ingressHosts returns the hosts whose certificates the node keeps. It returns node.ErrForbidden if the node may serve
// no ingress.
func (c *Control) ingressHosts() ([]boundary.Host, error) {
	snap := c.snapshot()
	if !c.servesIngress(snap) {
		return nil, fmt.Errorf("node %s serves no ingresses (a person lets it: tend nodes ingress %s on): %w", c.node,
			c.node, node.ErrForbidden)
	}
	var out []boundary.Host
	claims := hosts.TableOf(snap.Routed())
	for object := range snap.Objects(api.KindIngress) {
		spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
		if err != nil || object.Value.Metadata.Deleting() {
			continue
		}
		if _, _, served := takesPolicy(claims, *object.Value, &spec); !served || !spec.Secure() || spec.TLS.Certificate != "" {
			continue
		}
		out = append(out, boundary.Host{Name: strings.ToLower(spec.Host), OnDemand: spec.TLS.OnDemand,
			Internal: spec.TLS.Provider == internalProvider})
	}
	return out, nil
}

// servesIngress reports whether the node may serve ingresses. This server's own node may, unless it is declared
// otherwise.
func (c *Control) servesIngress(snap records.Snapshot) bool {
	return c.asksOthers(snap, c.node)
}

// Sign implements nodeapi.Control.
func (c *Control) Sign(ctx context.Context, request []byte) ([]byte, error) {
	hosts, err := c.ingressHosts()
	if err != nil {
		return nil, err
	}
	asked, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = asked.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("the certificate request can't be read: %w: %w", err, node.ErrForbidden)
	}
	if !boundary.SignsFor(hosts, asked.DNSNames) {
		return nil, fmt.Errorf("no ingress declares %.200q with provider %q: %w", asked.DNSNames,
			internalProvider, node.ErrForbidden)
	}
	if c.Options.Sign == nil {
		return nil, errors.New("this server has no authority for ingresses")
	}
	return c.Options.Sign(ctx, asked)
}

// Certificates implements nodeapi.Control.
func (c *Control) Certificates() certmagic.Storage { return c.certificates }

// certificates is the part of the storage of certificates that a node may use: see boundary.CertificateKey.
type certificates struct {
	c     *Control
	all   certmagic.Storage
	locks atomic.Int64 // that are held or waited for
	// trial is the value stored last to try the storage: it has no place in the store.
	mu    sync.Mutex
	trial map[string][]byte
}

// try keeps, or with a nil value forgets, what certmagic stores to try the storage.
func (s *certificates) try(key string, value []byte) error {
	if _, err := s.c.ingressHosts(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial = map[string][]byte{}
	if value != nil {
		s.trial[key] = value
	}
	return nil
}

func (s *certificates) tried(key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, known := s.trial[key]; known {
		return value, nil
	}
	return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
}

// check returns node.ErrForbidden for a key that isn't the node's.
func (s *certificates) check(key string) error {
	hosts, err := s.c.ingressHosts()
	if err != nil {
		return err
	}
	if s.all == nil || !boundary.CertificateKey(hosts, key) {
		return fmt.Errorf("the stored %.200q: %w", key, node.ErrForbidden)
	}
	return nil
}

// Store implements certmagic.Storage.
func (s *certificates) Store(ctx context.Context, key string, value []byte) error {
	if len(value) > boundary.MaxCertificateValue {
		return fmt.Errorf("%.200q has %d bytes, more than %d: %w", key, len(value),
			boundary.MaxCertificateValue, node.ErrForbidden)
	}
	if boundary.Trial(key) {
		return s.try(key, value)
	}
	if err := s.check(key); err != nil {
		return err
	}
	s.c.storing.Lock()
	defer s.c.storing.Unlock()
	if err := s.c.catchUp(ctx); err != nil { // with what was stored just before, here and by another server
		return err
	}
	if err := s.check(key); err != nil { // it may have been removed meanwhile
		return err
	}
	if why := room(s.c.snapshot(), key, len(value)).Full(); why != "" {
		return fmt.Errorf("%.200q has no room: there would be %s: %w", key, why, node.ErrForbidden)
	}
	return s.all.Store(ctx, key, value)
}

// room returns what is stored of certificates once a value is, from what the view has of their records.
func room(snap records.Snapshot, key string, size int) (out boundary.CertificateRoom) {
	for record := range snap.Prefix(records.CertFilesPrefix) {
		if text, ok := record.Value.([]byte); ok && record.Key != records.CertFilesPrefix+key {
			out.Add(strings.TrimPrefix(record.Key, records.CertFilesPrefix), len(text))
		}
	}
	out.Add(key, size*3/2) // it is sealed, as text
	return out
}

// Load implements certmagic.Storage.
func (s *certificates) Load(ctx context.Context, key string) ([]byte, error) {
	if boundary.Trial(key) {
		return s.tried(key)
	}
	if err := s.check(key); err != nil {
		return nil, err
	}
	return s.all.Load(ctx, key)
}

// Delete implements certmagic.Storage.
func (s *certificates) Delete(ctx context.Context, key string) error {
	if boundary.Trial(key) {
		return s.try(key, nil)
	}
	if err := s.check(key); err != nil {
		return err
	}
	return s.all.Delete(ctx, key)
}

// Exists implements certmagic.Storage.
func (s *certificates) Exists(ctx context.Context, key string) bool {
	return s.check(key) == nil && s.all.Exists(ctx, key)
}

// Stat implements certmagic.Storage.
func (s *certificates) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	if err := s.check(key); err != nil {
		return certmagic.KeyInfo{}, err
	}
	return s.all.Stat(ctx, key)
}

// List implements certmagic.Storage: it shows the keys that the node may read.
func (s *certificates) List(ctx context.Context, folder string, recursive bool) ([]string, error) {
	hosts, err := s.c.ingressHosts()
	if err != nil {
		return nil, err
	}
	if s.all == nil || !boundary.CertificateFolder(hosts, folder) {
		return nil, fmt.Errorf("the folder %.200q: %w", folder, node.ErrForbidden)
	}
	return s.all.List(ctx, folder, recursive)
}

// Lock implements certmagic.Storage.
func (s *certificates) Lock(ctx context.Context, name string) error {
	if _, err := s.c.ingressHosts(); err != nil {
		return err
	}
	if s.all == nil || len(name) > boundary.MaxCertificateKey || slices.Contains([]string{"", internalLock}, name) {
		return fmt.Errorf("the lock %.200q: %w", name, node.ErrForbidden)
	}
	if s.locks.Add(1) > boundary.MaxLocks {
		s.locks.Add(-1)
		return fmt.Errorf("node %s holds %d locks: %w", s.c.node, boundary.MaxLocks, node.ErrForbidden)
	}
	err := s.all.Lock(ctx, name)
	if err != nil {
		s.locks.Add(-1)
	}
	return err
}

// internalLock is held while the cluster's own authority is founded.
const internalLock = "internal-root"

// Unlock implements certmagic.Storage.
func (s *certificates) Unlock(ctx context.Context, name string) error {
	err := s.all.Unlock(ctx, name)
	if err == nil {
		s.locks.Add(-1)
	}
	return err
}
