package verbs

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
)

// An apply names what the same set applied before and no longer holds, and leaves it alone.
func TestAnApplyNamesWhatItLeaves(t *testing.T) {
	w := newWorld(t)
	old, renamed := deployment("acme", "old", `{"image":"a"}`), deployment("acme", "new", `{"image":"a"}`)
	apply := func(opts ApplyOptions, objects ...api.Object) string {
		t.Helper()
		result, err := w.apply(opts, objects...)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(result.Left)
	}
	for _, step := range []struct {
		reason string
		opts   ApplyOptions
		object api.Object
		want   string
	}{
		{"nothing was there", ApplyOptions{Set: "file"}, old, "[]"},
		{"another file", ApplyOptions{Set: "other"}, deployment("acme", "else", `{"image":"a"}`), "[]"},
		{"no set", ApplyOptions{}, renamed, "[]"},
		{"a dry run says it too", ApplyOptions{Set: "file", DryRun: true}, renamed, "[deployment/acme/old]"},
		{"it was renamed", ApplyOptions{Set: "file"}, renamed, "[deployment/acme/old]"},
		{"and still runs", ApplyOptions{Set: "file"}, renamed, "[deployment/acme/old]"},
		{"a prune takes it", ApplyOptions{Set: "file", Prune: true}, renamed, "[]"},
		{"it goes", ApplyOptions{Set: "file"}, renamed, "[]"},
	} {
		if got := apply(step.opts, step.object); got != step.want {
			t.Errorf("%s: %s, want %s", step.reason, got, step.want)
		}
	}
	for i := range api.MaxLeft + 5 {
		apply(ApplyOptions{Set: "many"}, deployment("many", fmt.Sprint("x", i), `{"image":"a"}`))
	}
	result, err := w.apply(ApplyOptions{Set: "many"}, deployment("many", "y", `{"image":"a"}`))
	if err != nil || len(result.Left) != api.MaxLeft || result.MoreLeft != 5 {
		t.Errorf("of many: %d and %d more, %v", len(result.Left), result.MoreLeft, err)
	}
}
