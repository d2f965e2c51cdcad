package agent_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// registry stores the registry of a host, under a name of its own.
func (l *harness) registry(host, username string) {
	l.t.Helper()
	spec, err := json.Marshal(api.RegistrySpec{URL: host, Username: username,
		Token: records.SealedToken("m", []byte("t"))})
	l.must(err)
	object := api.Object{Kind: api.KindRegistry, Scope: api.Unscoped, Name: "r" + username, Spec: spec}
	l.commit(records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object))
	l.settle()
}

func TestFailedPullsAreRetriedWhenTheirRegistryChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.engine.FailPulls("shop.example/web:1", errors.New("unauthorized"))
		l.start()
		defer l.close()
		l.request("shop.example/web:1", "")
		l.pass(time.Hour) // the backoffs have grown
		before := l.engine.Calls()["pull"]
		l.registry("elsewhere.example", "a")
		if n := l.engine.Calls()["pull"]; n != before {
			t.Errorf("another host's registry made %d pulls", n-before)
		}
		l.registry("shop.example", "b")
		if got := l.answer(); l.engine.Calls()["pull"] != before+1 || got.State != api.ImageFailed || got.Attempts != 1 {
			t.Errorf("%d pulls, answer %+v", l.engine.Calls()["pull"]-before, got)
		}
		l.engine.FailPulls("shop.example/web:1", nil)
		l.engine.PublishImage("shop.example/web:1")
		l.registry("shop.example", "b")
		if got := l.answer(); got.State != api.ImagePresent {
			t.Errorf("with the right token: %+v", got)
		}
		again := l.engine.Calls()["pull"]
		l.registry("shop.example", "c")
		if n := l.engine.Calls()["pull"]; n != again {
			t.Error("an image that is there was pulled again")
		}
	})
}
