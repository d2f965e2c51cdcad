package verbs

import (
	"testing"

	"tend.dev/tend/api"
)

// TestASetTakesOver: an object that another set applied before is marked, once, and its stamps name that set for the
// prune. A set that moves as a whole, as renamed files do, marks nothing.
func TestASetTakesOver(t *testing.T) {
	w := newWorld(t)
	one, two := deployment("prod", "one", `{"image":"a"}`), deployment("prod", "two", `{"image":"a"}`)
	three := deployment("prod", "three", `{"image":"a"}`)
	for _, step := range []struct {
		reason, set   string
		objects       []api.Object
		former, stamp string // of the first object
	}{
		{"it is new", "fa", []api.Object{one}, "", ""},
		{"its own set", "fa", []api.Object{one}, "", ""},
		{"the set moves", "renamed", []api.Object{one}, "", ""},
		{"another one holds more", "fb", []api.Object{one, two}, "renamed", "renamed"},
		{"that one again", "fb", []api.Object{one, two}, "", "renamed"},
		{"no set changes nothing", "", []api.Object{one}, "", "renamed"},
		{"back, and the other one keeps some", "fa", []api.Object{one}, "fb", "fb"},
		{"of two sets", "fc", []api.Object{two, one}, "fb", "fb"},
		{"a set that moves with a new object", "fd", []api.Object{one, two, three}, "fc", "fc"},
	} {
		for _, dry := range []bool{true, false} {
			result, err := w.apply(ApplyOptions{Set: step.set, DryRun: dry}, step.objects...)
			if err != nil || result.Objects[0].FormerSet != step.former {
				t.Errorf("%s (dry run %v): %q, %v; want %q", step.reason, dry, result.Objects[0].FormerSet, err, step.former)
			}
		}
		if got := w.object(step.objects[0].Ref()).Metadata.Stamps[api.StampFormerSet]; got != step.stamp {
			t.Errorf("%s: the former set is %q, want %q", step.reason, got, step.stamp)
		}
	}
}
