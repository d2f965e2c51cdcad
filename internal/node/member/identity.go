package member

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/renameio/v2"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/nodeapi/remote"
)

// file holds the membership below a root.
const file = "joined"

// errNotJoined is returned if a root has no membership and no token was given.
var errNotJoined = errors.New("this machine has not joined a cluster: run `tend nodes add` where the server is, and paste the command that it prints here")

// identity is the machine's current membership.
type identity struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	// writing is held while a part of the membership is replaced.
	writing sync.Mutex

	mu    sync.Mutex
	known join.Membership
	pair  tls.Certificate
}

// read loads the membership of a root; fs.ErrNotExist if there is none.
func (i *identity) read() error {
	content, err := os.ReadFile(i.path)
	if err != nil {
		return err
	}
	var known join.Membership
	if err = json.Unmarshal(content, &known); err == nil {
		err = i.set(known)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w: remove it and join again with tend nodes add", i.path, err)
	}
	return nil
}

func (i *identity) set(known join.Membership) error {
	pair, err := known.Pair()
	if err != nil {
		return fmt.Errorf("the node's certificate: %w", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known, i.pair = known, pair
	return nil
}

// keep stores a complete membership atomically.
func (i *identity) keep(known join.Membership) error {
	content, err := json.Marshal(known)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(i.path, content, 0o600, renameio.WithTempDir(filepath.Dir(i.path))); err != nil {
		return fmt.Errorf("keep the membership: %w", err)
	}
	return i.set(known)
}

// identify reads the membership of a root, or joins. A server address in the options replaces the stored one.
func identify(ctx context.Context, o Options) (*identity, error) {
	i := &identity{path: filepath.Join(o.Root, file), now: o.Now, log: o.Logger}
	err, again := i.read(), stays
	if err == nil && (o.Token != "" || i.ended() != nil) {
		again = i.standing(ctx, o)
	}
	switch {
	case again == expired && o.Token == "":
		return nil, i.ended()
	case o.Token != "" && again != stays:
		return i, i.joinAgain(ctx, o, again)
	case err == nil && o.Server != "" && o.Server != i.known.Server:
		known := i.known
		known.Server, known.Servers = o.Server, nil
		return i, i.keep(known)
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return i, err
	}
	if o.Token == "" || o.Server == "" {
		return nil, errNotJoined
	}
	known, err := enter(ctx, o)
	if err != nil {
		return nil, err
	}
	known.Former = []string{known.Node} // the root may be new, and the machine not
	return i, i.keep(known)
}

// The backoff between two attempts to join: doubling, with jitter. All of them take about a minute.
const (
	firstWait = 200 * time.Millisecond
	longWait  = 10 * time.Second
	mostTries = 10
)

// enter joins. If many machines join at once, an overloaded server closes connections: those attempts are repeated.
func enter(ctx context.Context, o Options) (join.Membership, error) {
	machine, err := join.NewMachine()
	if err != nil {
		return join.Membership{}, err
	}
	o.Logger.InfoContext(ctx, "joining a cluster", "through", o.Server, "node", o.Node)
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = firstWait, longWait, 2
	return backoff.Retry(ctx, func() (join.Membership, error) {
		known, err := machine.Join(ctx, o.Dial, o.Server, o.Token, o.Node)
		if err != nil && !join.Cut(err) {
			err = backoff.Permanent(err)
		}
		return known, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(mostTries), backoff.WithNotify(func(err error, wait time.Duration) {
		o.Logger.WarnContext(ctx,
			"the server closed the connection before its answer, or is overloaded; retrying",
			"backoff", wait, "error", err)
	}))
}

func (i *identity) membership() join.Membership {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.known
}

// learn stores the addresses of the servers.
func (i *identity) learn(servers []string) error {
	i.writing.Lock()
	defer i.writing.Unlock()
	known := i.membership()
	known.Servers = servers
	return i.keep(known)
}

// cleared records that no container of ended memberships is left.
func (i *identity) cleared() error {
	i.writing.Lock()
	defer i.writing.Unlock()
	known := i.membership()
	known.Former = nil
	return i.keep(known)
}

// certificate returns the current certificate, for the handshake of a connection.
func (i *identity) certificate() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &i.pair, nil
}

// roots returns the authorities by which servers are judged, for the handshake of a connection.
func (i *identity) roots() []byte { return i.membership().Authority }

// trust returns the authorities that this machine trusts.
func (i *identity) trust() remote.Trust {
	known := i.membership()
	has := remote.Trust{Roots: authority.FingerprintsOf(known.Authority)}
	if own, err := i.leaf(); err == nil {
		has.Issuer = authority.IssuerOf(own, known.Authority)
	}
	return has
}

func (i *identity) leaf() (*x509.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return x509.ParseCertificate(i.pair.Certificate[0])
}

// checkEvery is the interval between two checks of the certificate.
const checkEvery = time.Hour

// renew renews the certificate when a third of its life is left, until ctx ends.
func (i *identity) renew(ctx context.Context, client *http.Client) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		if err := i.renewDue(ctx, client); err != nil && ctx.Err() == nil {
			i.log.WarnContext(ctx, "the node's certificate could not be renewed; retrying", "backoff",
				checkEvery, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (i *identity) renewDue(ctx context.Context, client *http.Client) error {
	leaf, err := i.leaf()
	if err != nil || leaf.NotAfter.Sub(i.now()) > authority.NodeLife/3 {
		return err
	}
	if err := i.renewNow(ctx, client); err != nil {
		return errors.Join(err, i.ended())
	}
	return nil
}

// renewFor renews the certificate if the cluster's authorities differ from those that this machine has, as during a
// rotation. It reports whether it did.
func (i *identity) renewFor(ctx context.Context, client *http.Client, roots []string) (bool, error) {
	has := i.trust()
	if len(roots) == 0 || slices.Equal(roots, has.Roots) && has.Issuer == roots[0] {
		return false, nil
	}
	return true, i.renewNow(ctx, client)
}

func (i *identity) renewNow(ctx context.Context, client *http.Client) error {
	i.writing.Lock()
	defer i.writing.Unlock()
	known, err := i.membership().Renew(ctx, client)
	if err != nil {
		return err
	}
	return i.keep(known)
}
