package dependency

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

func TestWaiting(t *testing.T) {
	states := map[string]State{
		"statefulset/prod/db":    {Ready: true},
		"deployment/prod/cache":  {Why: "1 of 3 replicas ready"},
		"deployment/other/cache": {Ready: true},
		"job/prod/seed":          {Why: "it never ran"},
	}
	lookup := func(ref api.Ref) State {
		if state, found := states[ref.String()]; found {
			return state
		}
		return State{Why: "it does not exist"}
	}
	cases := map[string]struct {
		reason  string
		entries []string
		want    []string
	}{
		"nothing":       {"what depends on nothing waits for nothing", nil, nil},
		"ready":         {"a ready one is not waited for", []string{"statefulset/db"}, nil},
		"another scope": {"three parts name a scope", []string{"deployment/other/cache"}, nil},
		"not ready": {"each that is not ready is named, in order",
			[]string{"job/seed", "statefulset/db", "deployment/prod/cache"},
			[]string{"job/prod/seed (it never ran)", "deployment/prod/cache (1 of 3 replicas ready)"}},
		"missing": {"what isn't there is waited for", []string{"deployment/gone"},
			[]string{"deployment/prod/gone (it does not exist)"}},
		"malformed": {"an entry that can't be read never opens the way", []string{"db"},
			[]string{`"db" is not kind/name or kind/scope/name`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Waiting("prod", tc.entries, lookup)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func node(n int) api.Ref {
	return api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: string(rune('a' + n))}
}

func TestCycle(t *testing.T) {
	edges := map[api.Ref][]api.Ref{node(0): {node(1), node(2)}, node(1): {node(3)}, node(2): {node(3)}, node(3): {node(4)}}
	needs := func(ref api.Ref) []api.Ref { return edges[ref] }
	if got := Cycle([]api.Ref{node(0)}, needs); got != nil {
		t.Errorf("a diamond isn't a circle, got %v", got)
	}
	edges[node(4)] = []api.Ref{node(1)}
	want := []api.Ref{node(1), node(3), node(4), node(1)}
	if diff := cmp.Diff(want, Cycle([]api.Ref{node(0)}, needs)); diff != "" {
		t.Error(diff)
	}
	edges = map[api.Ref][]api.Ref{node(0): {node(0)}}
	if diff := cmp.Diff([]api.Ref{node(0), node(0)}, Cycle([]api.Ref{node(0)}, needs)); diff != "" {
		t.Error(diff)
	}
}

// TestCycleIsFoundIffThereIsOne: a result is a cycle; without a result the nodes can be ordered so that each comes
// after what it needs.
func TestCycleIsFoundIffThereIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := map[api.Ref][]api.Ref{}
		var all []api.Ref
		for i := range 6 {
			all = append(all, node(i))
			for _, to := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 2).Draw(t, "needs") {
				edges[node(i)] = append(edges[node(i)], node(to))
			}
		}
		circle := Cycle(all, func(ref api.Ref) []api.Ref { return edges[ref] })
		if circle == nil {
			if left := unordered(all, edges); left > 0 {
				t.Fatalf("no circle was found, but %d nodes can't be put in order", left)
			}
			return
		}
		if circle[0] != circle[len(circle)-1] {
			t.Fatalf("%v does not end where it begins", circle)
		}
		for i, ref := range circle[:len(circle)-1] {
			if !contains(edges[ref], circle[i+1]) {
				t.Fatalf("%v: %s does not need %s", circle, ref, circle[i+1])
			}
		}
	})
}

// unordered repeatedly removes the nodes that need nothing that is left, and returns how many can't be removed.
func unordered(all []api.Ref, edges map[api.Ref][]api.Ref) int {
	placed := map[api.Ref]bool{}
	for range all {
		for _, ref := range all {
			free := true
			for _, need := range edges[ref] {
				free = free && placed[need]
			}
			placed[ref] = placed[ref] || free
		}
	}
	left := 0
	for _, ref := range all {
		if !placed[ref] {
			left++
		}
	}
	return left
}

func contains(all []api.Ref, one api.Ref) bool {
	for _, ref := range all {
		if ref == one {
			return true
		}
	}
	return false
}
