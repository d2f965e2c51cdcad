package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/view"
)

// ElectionTTL is the time for which a vanished server keeps its claim on the controllers; then another server may claim
// them.
const ElectionTTL = 6 * time.Second

// electTime bounds one attempt to claim the controllers, and the release of a claim.
const electTime = 5 * time.Second

// ErrHeld is the error of a claim while another server has the controllers.
var ErrHeld = errors.New("another server has the controllers")

// Candidate is a server that competes with others for the controllers of one store.
type Candidate struct {
	Store store.Store
	// Name is the server's name; the id of its terms begins with it.
	Name string
	// Alone reports whether no other process can have the store: then the process that holds the controllers has ended.
	Alone func() bool
	// Unfit returns the reason why another server should have the controllers, such as a full disk: its store commits
	// nothing, while its lease could be renewed for ever. Default: there is none.
	Unfit func() string
}

// Leader returns the server's name in the value of the election key, or "".
func Leader(value any) string {
	id, _ := value.([]byte)
	name, _, found := strings.Cut(string(id), leaderMark)
	if !found {
		return ""
	}
	return name
}

// leaderMark separates a server's name from the random part of a term's id.
const leaderMark = " "

// Claim claims the controllers once. The claim is bound to a lease, which the term keeps alive until it ends. It
// returns ErrHeld if another server has them.
func (c Candidate) Claim(ctx context.Context) (*Term, error) {
	ctx, cancel := context.WithTimeout(ctx, electTime)
	defer cancel()
	before, err := c.Store.Get(ctx, ElectionKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	// A claim without a lease was made by a server that had the store to itself.
	if before.Lease != 0 && !c.Alone() {
		return nil, ErrHeld
	}
	granted := time.Now()
	lease, err := c.Store.Grant(ctx, ElectionTTL)
	if err != nil {
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	id := []byte(c.Name + leaderMark + control.RandomHex(8))
	revision, err := c.Store.Commit(ctx, store.Txn{
		Site: "election", If: []store.Condition{{Key: ElectionKey, Modified: before.Modified}},
		Do: []store.Op{{Key: ElectionKey, Value: id, Lease: lease}},
	})
	if err != nil {
		giveBack(ctx, c.Store, lease) // the lease ends a claim that is applied late
		if errors.Is(err, store.ErrConflict) {
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	t := newTerm(c.Store, id, revision)
	t.lease, t.unfit = lease, c.Unfit
	t.keep(granted)
	return t, nil
}

// giveBack ends a lease. If that fails, the lease expires.
func giveBack(ctx context.Context, s store.Store, lease store.LeaseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), electTime)
	defer cancel()
	_ = s.Revoke(ctx, lease)
}

// keep renews the claim's lease until the term is lost or ends. If a renewal doesn't succeed in time, the term counts
// as lost before another server can have begun one.
func (t *Term) keep(renewed time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	t.keeping.Go(func() {
		if recovery.Call(func() error { return t.renewLease(ctx, renewed) }) != nil {
			t.lose()
		}
	})
	t.release = cancel
}

// renewLease renews the lease until ctx ends or the term is lost.
func (t *Term) renewLease(ctx context.Context, renewed time.Time) error {
	ticker := time.NewTicker(ElectionTTL / 6)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.lost:
			return nil
		case <-ticker.C:
		}
		asked := time.Now()
		if err := t.keepAlive(ctx, renewed); err == nil {
			renewed = asked
		} else if errors.Is(err, store.ErrLeaseNotFound) || ctx.Err() == nil && time.Since(renewed) > ElectionTTL*2/3 {
			t.lose()
		}
	}
}

// keepAlive renews the lease once, within its remaining time, unless this server should not have the controllers.
func (t *Term) keepAlive(ctx context.Context, renewed time.Time) error {
	if t.unfit != nil {
		if why := t.unfit(); why != "" {
			return errors.New(why)
		}
	}
	ctx, cancel := context.WithDeadline(ctx, renewed.Add(ElectionTTL*5/6))
	defer cancel()
	return t.Store.KeepAlive(ctx, t.lease)
}

// End releases the controllers for another server. The term must not be used afterwards.
func (t *Term) End(ctx context.Context) {
	if t.release == nil {
		return // the claim of a server that has the store to itself doesn't expire
	}
	t.release()
	t.keeping.Wait()
	giveBack(ctx, t.Store, t.lease)
}

// Elect claims the controllers as soon as no other server has them. It returns ctx's error if ctx ends first.
func (p *Plane) Elect(ctx context.Context, c Candidate) (*Term, error) {
	p.liveness.Follow()
	vacant := make(chan struct{}, 1)
	remove := p.View.OnChange(func(change view.Change) {
		if change.Key == ElectionKey {
			select {
			case vacant <- struct{}{}:
			default:
			}
		}
	})
	defer remove()
	ticker := time.NewTicker(ElectionTTL / 3)
	defer ticker.Stop()
	for {
		term, err := c.Claim(ctx)
		if err == nil {
			return term, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, ErrHeld) {
			p.liveness.Follow() // while the store gives no answer, no server hears a node
			p.Logger.WarnContext(ctx, "the controllers can't be claimed; retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-vacant:
		case <-ticker.C:
		}
	}
}
