package agent_test

import (
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestANodeWithoutAProxySaysSo: the store still has the listeners that an earlier life of its agent reported.
func TestANodeWithoutAProxySaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.commit(records.NewTxn("test").Put(records.IngressNodeKey(nodeID), api.IngressNodeStatus{
			Node: nodeID, HTTP: api.ListenerStatus{Address: ":80", Wanted: true, Open: true},
		}))
		l.start()
		defer l.close()
		if got := l.snapshot().IngressNode(nodeID); !got.Exists() || got.Value.HTTP.Open || got.Value.HTTP.Address != "" {
			t.Errorf("after the start the proxy is %+v", got.Value)
		}
	})
}

// TestANodeThatNeverHadAProxyStoresNothing of one.
func TestANodeThatNeverHadAProxyStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		if got := l.snapshot().IngressNode(nodeID); got.Exists() {
			t.Errorf("it reported %+v", got.Value)
		}
	})
}
