//go:build integration

package etcd_test

import (
	"errors"
	"testing"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storetest"
)

// settled is how long after its vote a member takes the lead over: until then a leader that stops tries for seconds to hand over to it.
const settled = 1500 * time.Millisecond

// TestContractOfSeveral: two members keep the contract of a store as one does.
func TestContractOfSeveral(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		s := newServers(t, "a", "b")
		a := s.start("a", nil)
		b := s.join(a, "b")
		t.Cleanup(func() {
			<-time.After(settled)
			if err := errors.Join(a.Close(), b.Close()); err != nil {
				t.Error(err)
			}
		})
		return b
	})
}
