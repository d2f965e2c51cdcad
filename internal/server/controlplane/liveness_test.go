package controlplane

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// TestAHeartbeatThatEndsIsNoticed: a node counts as silent from its last heartbeat on, and not only from when a
// controller asks for it.
func TestAHeartbeatThatEndsIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, memory.New())
		options := v.Options
		options.NodeTimeout, options.NodeGather = 30*time.Second, 20*time.Second
		v.Plane = New(options)
		v.faulty(string(api.KindNetwork), func(*faulty) {})
		commit := func(txn *records.Txn) {
			if _, err := txn.Commit(t.Context(), v.store); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		commit(records.NewTxn("test").Put(records.AliveKey("n1"), "n1"))
		v.run()
		time.Sleep(time.Minute)
		commit(records.NewTxn("test").Delete(records.AliveKey("n1")))
		if left := v.liveness.Of(v.snapshot(), "n1").Left; left != 20*time.Second {
			t.Errorf("it is lost in %s, want 20s", left)
		}
	})
}
