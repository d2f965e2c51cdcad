package agent_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

// TestASharedPullAnswersAll: those whose request comes while the image is pulled for another owner get its end too, be
// it there or not.
func TestASharedPullAnswersAll(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		there  bool
		want   api.ImageState
	}{
		"there":   {"one pull is enough for all", true, api.ImagePresent},
		"nowhere": {"all are refused, and none waits for nothing", false, api.ImageFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(3 * time.Second)})
				if c.there {
					l.engine.PublishImage("far:1")
				}
				l.start()
				defer l.close()
				var class []api.Ref
				for n := range 5 {
					owner := api.Ref{Kind: api.KindLab, Scope: "school", Name: fmt.Sprintf("linux-%d", n+1)}
					class = append(class, owner)
					l.commit(records.NewTxn("test").Put(records.ImageKey(owner), api.ImageRequest{Owner: owner, Image: "far:1"}))
					l.settle()
				}
				l.pass(4 * time.Second)
				for _, owner := range class {
					if got := l.snapshot().ImageStatus(nodeID, owner); !got.Exists() || got.Value.State != c.want {
						t.Errorf("%s: the answer to %s is %+v", c.reason, owner.Name, got.Value)
					}
				}
				if n := l.engine.Calls()["pull"]; n != 1 {
					t.Errorf("%d pulls", n)
				}
			})
		})
	}
}
