package agent_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

// TestPullsOfADeployerAreConfined: both the image that is asked for and the one that a release needs.
func TestPullsOfADeployerAreConfined(t *testing.T) {
	for name, confined := range map[string]bool{"a deployer": true, "an admin": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t)
				l.engine.PublishImage("far:1")
				l.imageID, l.confined = "", confined
				var mu sync.Mutex
				var seen []runtime.PullSpec
				l.pulled = func(spec runtime.PullSpec) {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, spec)
				}
				l.start()
				defer l.close()
				l.commit(records.NewTxn("test").Put(records.ImageKey(web),
					api.ImageRequest{Owner: web, Image: "asked:1", Confined: confined}))
				l.deploy("a", func(_ *api.Task, spec *api.DeploymentSpec) { spec.Image = "far:1" })
				l.settle()
				mu.Lock()
				defer mu.Unlock()
				for _, reference := range []string{"asked:1", "far:1"} {
					if want := (runtime.PullSpec{Reference: reference, Confined: confined}); !slices.Contains(seen, want) {
						t.Errorf("pulled %+v, want %+v", seen, want)
					}
				}
			})
		})
	}
}

// TestNobodyJoinsAConfinedPull: it may fail where an admin's doesn't.
func TestNobodyJoinsAConfinedPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(time.Minute)})
		l.engine.PublishImage("far:1")
		var mu sync.Mutex
		var seen []runtime.PullSpec
		l.pulled = func(spec runtime.PullSpec) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, spec)
		}
		l.start()
		defer l.close()
		for name, confined := range map[string]bool{"web": false, "api": false, "theirs": true} {
			owner := api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: name}
			l.commit(records.NewTxn("test").Put(records.ImageKey(owner),
				api.ImageRequest{Owner: owner, Image: "far:1", Confined: confined}))
		}
		l.settle()
		mu.Lock()
		defer mu.Unlock()
		if len(seen) != 2 || seen[0].Confined == seen[1].Confined {
			t.Errorf("pulls under way: %+v, want an admin's and a deployer's", seen)
		}
	})
}
