package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"tend.dev/tend/internal/store"
)

// Member is one of the etcd members that hold the store.
type Member struct {
	ID uint64
	// Name is empty until the member has started.
	Name string
	URL  string
	// Voting is false while a member that was added catches up.
	Voting bool
	// Self is set for the member of this process, Leads for the leader.
	Self, Leads bool
}

// Members returns the members as this one knows them, by id, without asking another.
func (s *Store) Members() []Member {
	var out []Member
	server := s.member.Server
	for _, m := range server.Cluster().Members() {
		known := Member{ID: uint64(m.ID), Name: m.Name, Voting: !m.IsLearner, Self: m.ID == server.MemberID(),
			Leads: m.ID == server.Leader()}
		if len(m.PeerURLs) > 0 {
			known.URL = m.PeerURLs[0]
		}
		out = append(out, known)
	}
	return out
}

// ErrMember means that the members can't be changed like that.
var ErrMember = errors.New("the members of the store")

// AddMember adds a member at a URL without a vote: PromoteMembers gives it one. It calls check with the current members
// right before it adds: add is false if the member exists already. It waits a while for the members to be healthy, and
// while check returns ErrMember.
func (s *Store) AddMember(ctx context.Context, url string, check func([]Member) (add bool, err error)) error {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	return s.onceHealthy(ctx, "add "+url, func(ctx context.Context) error {
		add, err := check(s.Members())
		if err != nil || !add {
			return err
		}
		_, err = s.client.MemberAddAsLearner(ctx, []string{url})
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			// a member of this URL, added within the same second and so with the same id, was removed
			return fmt.Errorf("%w: add %s: %w", ErrMember, url, err)
		}
		return s.translateMember("add "+url, err)
	})
}

// healthWait bounds the wait for healthy members: etcd counts a connection as healthy after 5 s.
const healthWait = 12 * time.Second

// onceHealthy changes the members, and tries again for a while if they have to be healthy first. It returns
// store.ErrNoQuorum if too few of them are up to agree.
func (s *Store) onceHealthy(ctx context.Context, doing string, change func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	ticker := time.NewTicker(healthWait / 12)
	defer ticker.Stop()
	for {
		if err := s.led(ctx); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		err := change(wait)
		if quorum := s.Quorum(); err != nil && quorum != nil {
			return fmt.Errorf("%s: %w; it may still be done once they do", doing, quorum)
		}
		if !errors.Is(err, ErrMember) {
			return err
		}
		select {
		case <-wait.Done():
			return err
		case <-ticker.C:
		}
	}
}

// PromoteMembers gives a vote to members that have none, once ready approves them and they have caught up with the
// others.
func (s *Store) PromoteMembers(ctx context.Context, ready func(Member) bool) error {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	var faults []error
	for _, m := range s.Members() {
		if m.Voting || !ready(m) {
			continue
		}
		_, err := s.client.MemberPromote(ctx, m.ID)
		if err != nil && !errors.Is(err, rpctypes.ErrMemberLearnerNotReady) {
			faults = append(faults, s.translateMember("give "+m.Name+" a vote", err))
		}
	}
	return errors.Join(faults...)
}

// RemoveMember removes a member. It returns store.ErrNotFound if no member has the id, ErrMember if the others would
// lose their quorum.
func (s *Store) RemoveMember(ctx context.Context, m Member) error {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	doing := "remove " + m.Name
	return s.onceHealthy(ctx, doing, func(ctx context.Context) error {
		_, err := s.client.MemberRemove(ctx, m.ID)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return fmt.Errorf("%s: %w", doing, store.ErrNotFound)
		}
		return s.translateMember(doing, err)
	})
}

func (s *Store) translateMember(doing string, err error) error {
	for _, refusal := range []error{rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotEnoughStarted,
		rpctypes.ErrTooManyLearners} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w: %s: %w: each must be up and voting first (tend servers)", ErrMember, doing, err)
		}
	}
	return s.translate(doing, err)
}

// enter publishes this member's URL if it has changed.
func (s *Store) enter(ctx context.Context) error {
	if s.opts.Peers == nil {
		return nil
	}
	if self := s.Self(); self.Voting && self.URL != s.opts.Peers.URL {
		_, err := s.client.MemberUpdate(ctx, self.ID, []string{s.opts.Peers.URL})
		return s.translateMember("change the address of this server", err)
	}
	return nil
}

// Self returns this member. A member that was added but not promoted has no vote: it reads and writes as the others do.
func (s *Store) Self() Member {
	members := s.Members()
	i := slices.IndexFunc(members, func(m Member) bool { return m.Self })
	if i < 0 {
		return Member{}
	}
	return members[i]
}

// Quorum returns store.ErrNoQuorum, with the numbers, while the members have no leader.
func (s *Store) Quorum() error {
	if s.member.Server.Leader() != 0 {
		return nil
	}
	voting := 0
	for _, m := range s.Members() {
		if m.Voting {
			voting++
		}
	}
	return fmt.Errorf("%w: %d of the %d servers must be up and reach each other", store.ErrNoQuorum, voting/2+1, voting)
}
