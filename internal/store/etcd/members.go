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

// Member is one of the members that hold the store.
type Member struct {
	ID uint64
	// Name is empty until the member has started.
	Name string
	URL  string
	// Voting is false while a member that was added catches up.
	Voting bool
	// Self is set for the member of this process, Leads for the one that the members elected.
	Self, Leads bool
}

// Members returns the members as this one knows them, by id. It asks no other.
func (s *Store) Members() []Member {
	var out []Member
	server := s.member.Server
	for _, m := range server.Cluster().Members() {
		known := Member{ID: uint64(m.ID), Name: m.Name, Voting: !m.IsLearner, Self: m.ID == server.MemberID(), Leads: m.ID == server.Leader()}
		if len(m.PeerURLs) > 0 {
			known.URL = m.PeerURLs[0]
		}
		out = append(out, known)
	}
	return out
}

// ErrMember means that the members can't be changed like that.
var ErrMember = errors.New("the members of the store")

// AddMember adds a member that is reached at a URL. It gets a vote when it has caught up (PromoteMembers). Repeating it for a
// member that has not started yet changes nothing. It waits a while for a member that was added just before. It returns ErrMember if another one has the name or URL, or if the
// members that there are have to be healthy first.
func (s *Store) AddMember(ctx context.Context, name, url string) error {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, m := range s.Members() {
		switch {
		case m.URL == url && (m.Name == "" || m.Name == name):
			return nil
		case m.URL == url:
			return fmt.Errorf("%w: %s is the address of server %s: remove it first (tend servers remove %s)", ErrMember, url, m.Name, m.Name)
		case m.Name == name:
			return fmt.Errorf("%w: a server called %s is there already, at %s: choose another --name, or remove that one (tend servers remove %s)", ErrMember, name, m.URL, name)
		}
	}
	return s.onceHealthy(ctx, "add "+name, func(ctx context.Context) error {
		_, err := s.client.MemberAddAsLearner(ctx, []string{url})
		return err
	})
}

// healthWait is how long the members may take until they count as healthy: etcd asks for 5 s of a connection.
const healthWait = 12 * time.Second

// onceHealthy changes the members, and tries again for a while if they have to be healthy first. It returns store.ErrNoQuorum if
// too few of them are up to agree.
func (s *Store) onceHealthy(ctx context.Context, doing string, change func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	ticker := time.NewTicker(healthWait / 12)
	defer ticker.Stop()
	for {
		if err := s.led(ctx); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		err := s.translateMember(doing, change(wait))
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

// PromoteMembers gives those a vote that have caught up with the others.
func (s *Store) PromoteMembers(ctx context.Context) error {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	var faults []error
	for _, m := range s.Members() {
		if m.Voting || m.Name == "" {
			continue
		}
		_, err := s.client.MemberPromote(ctx, m.ID)
		if err != nil && !errors.Is(err, rpctypes.ErrMemberLearnerNotReady) {
			faults = append(faults, s.translateMember("give "+m.Name+" a vote", err))
		}
	}
	return errors.Join(faults...)
}

// RemoveMember removes a member by its name, or by its URL if it never started. It returns store.ErrNotFound if there is
// none, ErrMember if the others would lose their quorum.
func (s *Store) RemoveMember(ctx context.Context, name string) error {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	members := s.Members()
	i := slices.IndexFunc(members, func(m Member) bool { return m.Name == name || m.Name == "" && m.URL == name })
	if i < 0 {
		return fmt.Errorf("no server is called %s: %w", name, store.ErrNotFound)
	}
	if len(members) == 1 {
		return fmt.Errorf("%w: %s is the only one", ErrMember, name)
	}
	return s.onceHealthy(ctx, "remove "+name, func(ctx context.Context) error {
		_, err := s.client.MemberRemove(ctx, members[i].ID)
		return err
	})
}

func (s *Store) translateMember(doing string, err error) error {
	for _, refusal := range []error{rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrTooManyLearners} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w: %s: %w: each must be up and voting first (tend servers)", ErrMember, doing, err)
		}
	}
	return s.translate(doing, err)
}

// enter waits until this member has a vote, and makes its URL known if it has changed.
func (s *Store) enter(ctx context.Context) error {
	if s.opts.Peers == nil {
		return nil
	}
	ticker := time.NewTicker(s.opts.ReadyTimeout / 1000)
	defer ticker.Stop()
	for waited := false; ; waited = true {
		self := s.self()
		if self.Voting {
			break
		}
		if !waited {
			s.opts.Logger.InfoContext(ctx, "catching up with the other servers", "server", s.opts.Name)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.member.Server.StopNotify():
			return s.whyStopped(errors.New("stopped while it caught up"))
		case <-ticker.C:
		}
	}
	if self := s.self(); self.URL != s.opts.Peers.URL {
		_, err := s.client.MemberUpdate(ctx, self.ID, []string{s.opts.Peers.URL})
		return s.translateMember("change the address of this server", err)
	}
	return nil
}

func (s *Store) self() Member {
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
