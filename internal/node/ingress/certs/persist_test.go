package certs

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
)

// faulty is a storage whose first locks and reads of certificates fail. The other locks do nothing: those of
// certmagic's files leave a goroutine behind.
type faulty struct {
	certmagic.Storage
	locks, reads atomic.Int64
}

func newFaulty(t *testing.T) *faulty {
	return &faulty{Storage: &certmagic.FileStorage{Path: t.TempDir()}}
}

var errAway = errors.New("the storage is away")

func (f *faulty) Lock(context.Context, string) error {
	if f.locks.Add(-1) >= 0 {
		return errAway
	}
	return nil
}

func (f *faulty) Unlock(context.Context, string) error { return nil }

// Load fails only for what is there: for the rest certmagic expects fs.ErrNotExist.
func (f *faulty) Load(ctx context.Context, key string) ([]byte, error) {
	value, err := f.Storage.Load(ctx, key)
	if err == nil && strings.HasPrefix(key, "certificates/") && f.reads.Add(-1) >= 0 {
		return nil, errAway
	}
	return value, err
}

// TestAStorageThatFails: a host gets its certificate although the storage was away, and its state says why it takes so
// long.
func TestAStorageThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		stored       bool
		locks, reads int64
	}{
		"a stored certificate is read":  {stored: true, reads: 3},
		"the first one is obtained":     {locks: 3},
		"an obtained one is read again": {reads: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := newFaulty(t)
				p := Policy{Host: "shop.test", Provider: Internal}
				if test.stored {
					served(t, storage, p)
				}
				storage.locks.Store(test.locks)
				storage.reads.Store(test.reads)
				m := New(Options{Storage: storage, Sign: Authority{storage}.signDER})
				defer m.Close()
				m.Update([]Policy{p})
				synctest.Wait()
				if state, _ := m.State(p.Host); !strings.Contains(state.Error, errAway.Error()) {
					t.Errorf("while it is away: %+v", state)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if state, _ := m.State(p.Host); !there(state) || failed(state) {
					t.Errorf("once it is back: %+v", state)
				}
			})
		})
	}
}

// TestAHostThatGoesIsNotTriedAgain: neither after its policy is removed, nor once the manager is closed.
func TestAHostThatGoesIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newFaulty(t)
		storage.locks.Store(1 << 60)
		m := New(Options{Storage: storage, Sign: Authority{storage}.signDER})
		m.Update([]Policy{{Host: "gone.test", Provider: Internal}})
		synctest.Wait()
		m.Update([]Policy{{Host: "shop.test", Provider: Internal}})
		synctest.Wait()
		m.Close()
		tried := storage.locks.Load()
		time.Sleep(time.Hour)
		if again := storage.locks.Load(); again != tried {
			t.Errorf("tried %d times more", tried-again)
		}
	})
}

// TestADueCertificateIsRenewedAtTheStart: the cache's own passes are minutes apart, and it may have ended already.
func TestADueCertificateIsRenewedAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newFaulty(t)
		p := Policy{Host: "shop.test", Provider: Internal}
		served(t, storage, p)
		time.Sleep(leafLife)
		m := served(t, storage, p)
		if state, _ := m.State(p.Host); in(state) < leafLife-2*skew {
			t.Errorf("%+v", state)
		}
		if kept := m.cache.AllMatchingCertificates(p.Host); len(kept) != 1 {
			t.Errorf("%d certificates are kept", len(kept))
		}
	})
}

// served returns a closed manager that has served a policy.
func served(t *testing.T, storage certmagic.Storage, p Policy) *Manager {
	t.Helper()
	m := New(Options{Storage: storage, Sign: Authority{storage}.signDER})
	defer m.Close()
	m.Update([]Policy{p})
	synctest.Wait()
	if state, _ := m.State(p.Host); !there(state) || failed(state) {
		t.Fatalf("%+v", state)
	}
	return m
}
