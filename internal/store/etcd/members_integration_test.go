//go:build integration

package etcd_test

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storetest"
)

// settled is the time after its vote in which a member becomes able to take over the lead: until then a leader that
// stops tries for seconds to hand over to it.
const settled = 1500 * time.Millisecond

// TestContractOfSeveral: two members keep the contract of a store as one does. Each case has a pair of its own, which
// closes beside the next cases.
func TestContractOfSeveral(t *testing.T) {
	t.Parallel()
	var closing sync.WaitGroup
	defer closing.Wait()
	storetest.Run(t, func(inner *testing.T) store.Store {
		s := newServers(t, "a", "b")
		a := s.start("a", nil)
		b := s.join(a, "b")
		inner.Cleanup(func() {
			closing.Go(func() {
				<-time.After(settled)
				if err := errors.Join(a.Close(), b.Close(), os.RemoveAll(s.root)); err != nil {
					t.Error(err)
				}
			})
		})
		return b
	})
}
