package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/internal/core/placement"
)

func TestResolvers(t *testing.T) {
	for name, test := range map[string]struct {
		nodes []placement.Resolver
		want  string
	}{
		"no node is there":           {nil, "[]"},
		"the only node":              {[]placement.Resolver{{Node: "a", Alive: true}}, "[a]"},
		"a node that doesn't answer": {[]placement.Resolver{{Node: "a"}}, "[]"},
		"one with tasks of the owner": {[]placement.Resolver{{Node: "a", Alive: true},
			{Node: "b", Alive: true, Runs: true}}, "[b]"},
		"one that has begun, without tasks": {[]placement.Resolver{{Node: "a", Alive: true,
			Progress: placement.Working}, {Node: "b", Alive: true, Runs: true}}, "[a]"},
		"one that had begun and went away": {[]placement.Resolver{{Node: "a", Progress: placement.Working},
			{Node: "b", Alive: true}}, "[b]"},
		"one that has it": {[]placement.Resolver{{Node: "a", Alive: true,
			Progress: placement.Present}, {Node: "b", Alive: true, Runs: true}}, "[a]"},
		"one that had found it and went away": {[]placement.Resolver{{Node: "a", Progress: placement.Present},
			{Node: "b", Alive: true, Runs: true}}, "[a]"},
		"one failed: it retries, another tries": {[]placement.Resolver{{Node: "a", Alive: true, Progress: placement.Failed},
			{Node: "b", Alive: true}}, "[a b]"},
		"one failed, another has it": {[]placement.Resolver{{Node: "a", Alive: true, Progress: placement.Failed},
			{Node: "b", Progress: placement.Present}}, "[b]"},
		"all failed": {[]placement.Resolver{{Node: "a", Alive: true, Progress: placement.Failed},
			{Node: "b", Alive: true, Progress: placement.Failed}}, "[a b]"},
		"one failed and went away, another is up": {[]placement.Resolver{{Node: "a", Progress: placement.Failed},
			{Node: "b", Alive: true}}, "[b]"},
	} {
		if got := fmt.Sprint(placement.Resolvers("shop/web", test.nodes)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestResolversAreFew: whatever the nodes have done, at most one is asked that hasn't failed, some node is asked while
// any answers, and the order in which nodes are listed decides nothing.
func TestResolversAreFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]placement.Resolver, rapid.IntRange(0, 6).Draw(t, "nodes"))
		alive, failed := 0, 0
		for i := range nodes {
			nodes[i] = placement.Resolver{Node: fmt.Sprint("n", i), Alive: rapid.Bool().Draw(t, "alive"),
				Runs: rapid.Bool().Draw(t, "runs"),
				Progress: rapid.SampledFrom([]placement.Progress{placement.Untried, placement.Failed, placement.Working,
					placement.Present}).Draw(t, "progress")}
			if nodes[i].Alive {
				alive++
				if nodes[i].Progress == placement.Failed {
					failed++
				}
			}
		}
		asked := placement.Resolvers("shop/web", nodes)
		if len(asked) > failed+1 || len(asked) == 0 && alive > 0 {
			t.Fatalf("%v of %+v", asked, nodes)
		}
		shuffled := rapid.Permutation(nodes).Draw(t, "shuffled")
		if again := placement.Resolvers("shop/web", shuffled); !slices.Equal(again, asked) {
			t.Fatalf("%v, in another order %v", asked, again)
		}
	})
}

// TestOwnersAreSpread over nodes that are alike, and a node that goes away moves no others' owners.
func TestOwnersAreSpread(t *testing.T) {
	nodes := []placement.Resolver{{Node: "a", Alive: true}, {Node: "b", Alive: true}, {Node: "c", Alive: true}}
	count := map[string]int{}
	for i := range 300 {
		owner := fmt.Sprint("shop/web", i)
		before := placement.Resolvers(owner, nodes)[0]
		count[before]++
		if after := placement.Resolvers(owner, nodes[:2])[0]; before != "c" && after != before {
			t.Errorf("%s moved from %s to %s", owner, before, after)
		}
	}
	for node, n := range count {
		if n < 60 {
			t.Errorf("%s has %d of 300", node, n)
		}
	}
}
