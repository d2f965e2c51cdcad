package watch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func listing(objects ...Facts) map[string]Item[string] {
	out := map[string]Item[string]{}
	for _, f := range objects {
		out[f.ID] = Item[string]{Facts: f, Object: fmt.Sprintf("%s@%d", f.ID, f.Generation)}
	}
	return out
}

func TestDiff(t *testing.T) {
	a1 := Facts{ID: "a", Generation: 1, Status: map[string]int{"ready": 1}}
	a2 := Facts{ID: "a", Generation: 2, Status: map[string]int{"ready": 2}}
	for name, tc := range map[string]struct {
		reason         string
		cache, listing map[string]Item[string]
		want           string
	}{
		"created": {"it is new", listing(), listing(a1), "CREATED a a@1 "},
		"deleted": {"it carries the last cached object", listing(a2), listing(), "DELETED a a@2 a@2"},
		"updated": {"the generation grew; the status changed too, and that is one change", listing(a1), listing(a2),
			"UPDATED a a@2 a@1"},
		"status": {"only the status differs, deeply", listing(a1),
			listing(Facts{ID: "a", Generation: 1, Status: map[string]int{"ready": 0}}), "STATUS_UPDATED a a@1 a@1"},
		"same": {"equal maps are no change", listing(a1),
			listing(Facts{ID: "a", Generation: 1, Status: map[string]int{"ready": 1}}), ""},
		"status appears": {"one side has none", listing(Facts{ID: "a", Generation: 1}), listing(a1),
			"STATUS_UPDATED a a@1 a@1"},
		"deletion mark": {"it is to be reconciled though the generation is the same", listing(a1),
			listing(Facts{ID: "a", Generation: 1, Deleting: true, Status: a1.Status}), "UPDATED a a@1 a@1"},
		"still deleting": {"the mark is not new", listing(Facts{ID: "a", Deleting: true}),
			listing(Facts{ID: "a", Deleting: true}), ""},
		"labels": {"nothing depends on them", listing(a1),
			listing(Facts{ID: "a", Generation: 1, Labels: map[string]string{"x": "y"}, Status: a1.Status}), ""},
		"older": {"a smaller generation isn't a newer spec", listing(a2),
			listing(Facts{ID: "a", Generation: 1, Status: a2.Status}), ""},
		"order": {"created, deleted, updated, each by id", listing(a1, Facts{ID: "x"}, Facts{ID: "w"}),
			listing(a2, Facts{ID: "z"}, Facts{ID: "b"}),
			"CREATED b b@0 \nCREATED z z@0 \nDELETED w w@0 w@0\nDELETED x x@0 x@0\nUPDATED a a@2 a@1"},
	} {
		var got []string
		for _, c := range Diff(tc.cache, tc.listing) {
			got = append(got, fmt.Sprintf("%s %s %s %s", c.Type, c.ID, c.Object, c.Old))
		}
		if text := strings.Join(got, "\n"); text != tc.want {
			t.Errorf("%s: %s: got %q, want %q", name, tc.reason, text, tc.want)
		}
	}
}

// TestDiffLeadsToTheListing: who follows the changes knows the same objects as the listing, and hears of each once.
func TestDiffLeadsToTheListing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	known := map[string]Item[string]{}
	for round := range 500 {
		next := map[string]Item[string]{}
		for _, id := range []string{"a", "b", "c", "d"} {
			if random.IntN(3) > 0 {
				f := Facts{ID: id, Generation: max(known[id].Facts.Generation, int64(random.IntN(round+1))), Status: random.IntN(2)}
				next[id] = Item[string]{Facts: f, Object: fmt.Sprintf("%s@%d/%v", id, f.Generation, f.Status)}
			}
		}
		followed, heard := map[string]string{}, map[string]bool{}
		for id, item := range known {
			followed[id] = item.Object
		}
		for _, c := range Diff(known, next) {
			if heard[c.ID] {
				t.Fatalf("round %d: %s changed twice", round, c.ID)
			}
			if heard[c.ID], followed[c.ID] = true, c.Object; c.Type == Deleted {
				delete(followed, c.ID)
			}
		}
		for id, item := range next {
			if followed[id] != item.Object {
				t.Fatalf("round %d: %s is followed as %q, and is %q", round, id, followed[id], item.Object)
			}
		}
		if len(followed) != len(next) {
			t.Fatalf("round %d: followed %v, listed %v", round, followed, next)
		}
		known = next
	}
}

func TestSelector(t *testing.T) {
	f := Facts{Namespace: "prod", Labels: map[string]string{"app": "web", "tier": ""}}
	for name, tc := range map[string]struct {
		selector Selector
		want     bool
	}{
		"all":             {Selector{}, true},
		"namespace":       {Selector{Namespace: "prod"}, true},
		"other namespace": {Selector{Namespace: "test"}, false},
		"labels":          {Selector{Labels: map[string]string{"app": "web", "tier": ""}}, true},
		"other value":     {Selector{Labels: map[string]string{"app": "db"}}, false},
		"no such label":   {Selector{Labels: map[string]string{"none": ""}}, false},
	} {
		if got := tc.selector.Matches(f); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
