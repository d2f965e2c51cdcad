package member

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/remote"
)

// askTime bounds the question whether the machine is still a node.
const askTime = 10 * time.Second

// standing is the view that the cluster has of a machine that has joined.
type standing int

const (
	// stays: as one of its nodes, or the cluster doesn't answer.
	stays standing = iota
	// removed: the node was removed from the cluster.
	removed
	// strange: the cluster's authority isn't one that the machine knows.
	strange
	// expired: the machine's certificate has ended, and no server answered.
	expired
)

// String returns the reason for which a machine joins again.
func (s standing) String() string {
	return [...]string{"it is a node", "the node was removed", "the cluster has a new authority",
		"the node's certificate has ended"}[s]
}

// standing asks a server for the machine's standing. If the certificate has ended by this machine's clock and a server
// accepts it all the same, the clock is ahead.
func (i *identity) standing(ctx context.Context, o Options) standing {
	unheard := stays
	if i.ended() != nil {
		unheard = expired
	}
	config, err := authority.FollowingTLS(i.roots, i.certificate, "h2")
	if err != nil {
		return unheard
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DialContext: o.Dial}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		cmp.Or(o.Server, i.known.Server)+remote.Prefix+"state", nil)
	if err != nil {
		return unheard
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return strange
	}
	if err != nil {
		return unheard
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusUnauthorized {
		return removed
	}
	return stays
}

// ended returns an error if the machine's certificate has ended by its clock. No server accepts such a certificate, not
// even for its renewal.
func (i *identity) ended() error {
	leaf, err := i.leaf()
	if err != nil || leaf.NotAfter.After(i.now()) {
		return err
	}
	node := i.membership().Node
	return fmt.Errorf("the certificate of node %s ended at %s, so no server accepts it: run `tend nodes add --node %s --replace` where the server is, and paste the command that it prints here",
		node, leaf.NotAfter.UTC().Format(time.RFC3339), node)
}

// joinAgain makes the machine a node once more, in the same root. What the store then doesn't know of its containers is
// stopped if the cluster may have replaced them: it has, if the node was removed; it may have, after an absence that
// has outlasted the certificate.
func (i *identity) joinAgain(ctx context.Context, o Options, why standing) error {
	o.Server = cmp.Or(o.Server, i.known.Server)
	known, err := enter(ctx, o)
	if err != nil {
		return fmt.Errorf("this machine is no longer a node of the cluster (%s), and could not join again: %w", why, err)
	}
	if known.Former = i.known.Former; why != strange {
		known.Former = slices.Compact(slices.Sorted(slices.Values(append(known.Former, i.known.Node, known.Node))))
	}
	o.Logger.InfoContext(ctx, "joined again", "reason", why.String())
	return i.keep(known)
}
