package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

// servers are members on this machine's loopback.
type servers struct {
	t     *testing.T
	root  string
	urls  map[string]string
	peers *peer.Identity
	// ended has why members ended by themselves.
	ended chan error
}

var addresses atomic.Int32

// ownAddress returns an address of this machine that no other test has: members can't be given a listener.
func ownAddress() string {
	return fmt.Sprintf("127.%d.%d.%d:2380", 1+os.Getpid()>>8&0x7f, os.Getpid()&0xff, addresses.Add(1))
}

func newServers(t *testing.T, names ...string) *servers {
	t.Helper()
	s := &servers{t: t, root: t.TempDir(), urls: map[string]string{}, ended: make(chan error, 10)}
	var err error
	if s.peers, err = peer.Open(filepath.Join(s.root, "peers"), time.Now); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		s.urls[name] = "https://" + ownAddress()
	}
	return s
}

func (s *servers) options(name string, members map[string]string) etcd.Options {
	certificate, key, root := s.peers.Files()
	return etcd.Options{DataDir: filepath.Join(s.root, name), Name: name, Ballast: -1, MinFree: -1, Peers: &etcd.Peers{
		Listen: s.urls[name][len("https://"):], URL: s.urls[name], Certificate: certificate, Key: key, Authority: root,
		Name: authority.PeerName, Members: members,
	}}
}

// start starts a member that ends with the test at the latest.
func (s *servers) start(name string, members map[string]string) *etcd.Store {
	s.t.Helper()
	options := s.options(name, members)
	options.OnFatal = func(err error) { s.ended <- err }
	opened, err := etcd.Open(s.t.Context(), options)
	if err != nil {
		s.t.Fatalf("start %s: %v", name, err)
	}
	s.t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// join adds a member by another one, starts it, and gives it its vote. Before the vote it calls the functions.
func (s *servers) join(by *etcd.Store, name string, asLearner ...func(*etcd.Store)) *etcd.Store {
	s.t.Helper()
	eventually(s.t, "add "+name, func() error { return add(s.t.Context(), by, s.urls[name]) })
	all := map[string]string{name: s.urls[name]}
	for _, m := range by.Members() {
		if m.Name != "" {
			all[m.Name] = m.URL
		}
	}
	started := s.start(name, all)
	for _, do := range asLearner {
		do(started)
	}
	eventually(s.t, name+" gets its vote", func() error {
		err := by.PromoteMembers(s.t.Context(), func(m etcd.Member) bool { return m.Name == name })
		if !started.Self().Voting {
			return errors.Join(errors.New("it has none"), err)
		}
		return nil
	})
	return started
}

// add adds a new member.
func add(ctx context.Context, by *etcd.Store, url string) error {
	return by.AddMember(ctx, url, func([]etcd.Member) (bool, error) { return true, nil })
}

// remove removes a member by its name.
func remove(ctx context.Context, by *etcd.Store, name string) error {
	for _, m := range by.Members() {
		if m.Name == name {
			return by.RemoveMember(ctx, m)
		}
	}
	return fmt.Errorf("no member is called %s", name)
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := try()
	for range each(ctx, 20*time.Millisecond) {
		if err == nil {
			return
		}
		err = try()
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// each yields after every interval until ctx ends.
func each(ctx context.Context, interval time.Duration) iter.Seq[int] {
	return func(yield func(int) bool) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if !yield(i) {
					return
				}
			}
		}
	}
}

func write(ctx context.Context, s store.Store, key string) error {
	_, err := s.Commit(ctx, store.Txn{Site: "test", Do: []store.Op{{Key: key, Value: []byte("x")}}})
	return err
}

// TestOneServerBecomesThree: a store with data gets two more members while it runs; writes at one are read at all. One
// lost member changes nothing; with two lost, nothing can be written until one returns. In the end one server is left
// with everything.
func TestOneServerBecomesThree(t *testing.T) {
	t.Parallel()
	s := newServers(t, "a", "b", "c")
	alone := open(t, etcd.Options{DataDir: filepath.Join(s.root, "a"), Name: "a"})
	if err := write(t.Context(), alone, "/before"); err != nil {
		t.Fatal(err)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	a := s.start("a", nil)
	b := s.join(a, "b", func(b *etcd.Store) {
		if err := write(t.Context(), b, "/by-a-learner"); err != nil || b.Self().Voting {
			t.Errorf("b writes without a vote: %v", err)
		}
	})
	c := s.join(b, "c")
	all := []*etcd.Store{a, b, c}
	for i, one := range all {
		key := fmt.Sprintf("/by/%d", i)
		if err := write(t.Context(), one, key); err != nil {
			t.Fatalf("write at %d: %v", i, err)
		}
		for j, other := range all {
			for _, known := range []string{"/before", key} {
				if _, err := other.Get(t.Context(), known); err != nil {
					t.Errorf("%s, written at %d, read at %d: %v", known, i, j, err)
				}
			}
			if members := other.Members(); len(members) != 3 || !members[0].Voting || !members[1].Voting || !members[2].Voting {
				t.Errorf("the members, asked at %d: %+v", j, members)
			}
		}
	}
	if err := a.AddMember(t.Context(), "https://127.0.0.1:1",
		func([]etcd.Member) (bool, error) { return true, errors.New("refused") }); err == nil || len(a.Members()) != 3 {
		t.Errorf("a member that the check refuses: %v", err)
	}
	if err := a.RemoveMember(t.Context(), etcd.Member{ID: 1, Name: "nobody"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removing what isn't there: %v", err)
	}
	_ = c.Close()
	eventually(t, "write with two of three", func() error { return write(t.Context(), a, "/two") })
	gone := time.Now()
	_ = b.Close()
	eventually(t, "no quorum", func() error {
		if err := write(t.Context(), a, "/one"); !errors.Is(err, store.ErrNoQuorum) ||
			errors.Is(err, store.ErrUnknownOutcome) {
			return fmt.Errorf("a write with one of three: %w", err)
		}
		return nil
	})
	b = s.start("b", nil)
	eventually(t, "write after the quorum is back", func() error { return write(t.Context(), a, "/two-again") })
	if former := a.FormerLeader(); former.Before(gone.Add(-time.Second)) || former.After(time.Now()) {
		t.Errorf("by the election after %s the former leader had ended at %s", gone, former)
	}
	eventually(t, "remove the lost one", func() error { return remove(t.Context(), a, "c") })
	eventually(t, "remove the other", func() error { return remove(t.Context(), a, "b") })
	if err := <-s.ended; !errors.Is(err, etcd.ErrRemoved) {
		t.Errorf("a member that was removed ended: %v", err)
	}
	_ = b.Close()
	for name, how := range map[string]string{"b": "it ran then", "c": "it was off then, and only the others know"} {
		again, err := etcd.Open(t.Context(), s.options(name, nil))
		if !errors.Is(err, etcd.ErrRemoved) {
			t.Errorf("a member that was removed starts again (%s): %v, %v", how, again, err)
		}
	}
	eventually(t, "write alone", func() error { return write(t.Context(), a, "/alone") })
	for _, key := range []string{"/before", "/by/0", "/by/1", "/by/2", "/two", "/two-again", "/alone"} {
		if _, err := a.Get(t.Context(), key); err != nil {
			t.Errorf("%s in the end: %v", key, err)
		}
	}
}

// TestANodeIsNoPeer: a certificate of another authority, as nodes have, opens no connection to a member.
func TestANodeIsNoPeer(t *testing.T) {
	s := newServers(t, "a", "b")
	a := s.start("a", nil)
	if err := add(t.Context(), a, s.urls["b"]); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.peers, err = peer.Open(filepath.Join(s.root, "others"), time.Now); err != nil {
		t.Fatal(err)
	}
	options := s.options("b", map[string]string{"a": s.urls["a"], "b": s.urls["b"]})
	options.ReadyTimeout = 3 * time.Second
	if b, err := etcd.Open(t.Context(), options); err == nil {
		_ = b.Close()
		t.Error("a member with a certificate of another authority was let in")
	}
}
