//go:build integration

package etcd_test

import (
	"errors"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storetest"
)

// TestContractOfSeveral: two members keep the contract of a store as one does.
func TestContractOfSeveral(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		s := newServers(t, "a", "b")
		a := s.start("a", nil)
		b := s.join(a, "b")
		t.Cleanup(func() { // at once: the leader would hand over to the other one in vain
			closed := make(chan error, 1)
			go func() { closed <- a.Close() }()
			if err := errors.Join(b.Close(), <-closed); err != nil {
				t.Error(err)
			}
		})
		return b
	})
}
