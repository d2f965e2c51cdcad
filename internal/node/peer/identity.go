package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"tend.dev/tend/internal/node/nodeapi/authority"
)

// The files of a folder.
const (
	authorityFile = "authority.pem" // with the authority's key
	// the trusted certificates: the authority's own, and another one during a rotation
	rootFile        = "root.pem"
	certificateFile = "peer.pem"
	keyFile         = "peer.key"
)

// A server issues its own certificate, and renews it when a third of its life is left.
const (
	life       = 90 * 24 * time.Hour
	checkEvery = time.Hour
)

// Identity is the folder with a server's certificates.
type Identity struct {
	folder string
	now    func() time.Time
	// trusted are the fingerprints of the roots when the folder was opened: the store's connections are checked against
	// those.
	trusted []string

	mu     sync.Mutex
	issuer *authority.Authority
}

// Open opens the certificates in a folder. The first server of a cluster creates their authority. Errors name a damaged
// file.
func Open(folder string, now func() time.Time) (*Identity, error) {
	i := &Identity{folder: folder, now: now}
	text, err := os.ReadFile(i.path(authorityFile))
	if errors.Is(err, fs.ErrNotExist) {
		founded, err := authority.Found("Tend servers", now)
		if err != nil {
			return nil, err
		}
		if text, err = founded.Encode(); err != nil {
			return nil, err
		}
		if err := Keep(folder, text); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, fmt.Errorf("the certificates of servers: %w", err)
	}
	if i.issuer, err = authority.Open(text, now); err != nil {
		return nil, fmt.Errorf("%s: %w: restore it from another server", i.path(authorityFile), err)
	}
	roots, err := os.ReadFile(i.path(rootFile))
	if err != nil || !slices.Contains(authority.FingerprintsOf(roots), i.issuer.Fingerprint()) {
		roots = i.issuer.PEM()
	}
	i.trusted = authority.FingerprintsOf(roots)
	return i, errors.Join(i.write(rootFile, roots), i.renewDue())
}

// Keep stores the authority of a cluster that a server joins. It returns errors of the disk.
func Keep(folder string, authority []byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("the certificates of servers: %w", err)
	}
	return (&Identity{folder: folder}).write(authorityFile, authority)
}

func (i *Identity) path(name string) string { return filepath.Join(i.folder, name) }

func (i *Identity) write(name string, text []byte) error {
	if err := renameio.WriteFile(i.path(name), text, 0o600, renameio.WithTempDir(i.folder)); err != nil {
		return fmt.Errorf("the certificates of servers: %w", err)
	}
	return nil
}

// Files returns the paths of the certificate, its key and its authority, in PEM.
func (i *Identity) Files() (certificate, key, authority string) {
	return i.path(certificateFile), i.path(keyFile), i.path(rootFile)
}

// Authority returns the authority with its key, in PEM: a secret, which a server that joins gets.
func (i *Identity) Authority() ([]byte, error) { return i.issuing().Encode() }

func (i *Identity) issuing() *authority.Authority {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.issuer
}

// Renew issues another certificate whenever it is due, until ctx ends.
func (i *Identity) Renew(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		if err := i.renewDue(); err != nil {
			log.WarnContext(ctx, "the certificate for the other servers could not be renewed; retrying", "backoff",
				checkEvery, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (i *Identity) renewDue() error {
	if i.left() > life/3 {
		return nil
	}
	certificate, key, err := i.issuing().Peer(life)
	if err != nil {
		return err
	}
	// A connection that reads the files between the two writes fails, and is retried.
	return errors.Join(i.write(keyFile, key), i.write(certificateFile, certificate))
}

// left returns the remaining validity of the certificate; 0 without a certificate of this authority.
func (i *Identity) left() time.Duration {
	leaf := i.leaf()
	if leaf == nil {
		return 0
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(i.issuing().PEM())
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: authority.PeerName,
		CurrentTime: i.now()}); err != nil {
		return 0
	}
	return leaf.NotAfter.Sub(i.now())
}

// leaf returns the certificate, or nil if there is none or it doesn't match the key: a crash may have come between the
// writes of the two.
func (i *Identity) leaf() *x509.Certificate {
	pair, err := tls.LoadX509KeyPair(i.path(certificateFile), i.path(keyFile))
	if err != nil {
		return nil
	}
	return pair.Leaf
}
