package verbs

import (
	"context"
	"testing"

	"tend.dev/tend/internal/store/records"
)

// TestWhoSetAValueLast walks what an admin and others do to a value, one after the other: it is marked while no admin
// set it last.
func TestWhoSetAValueLast(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "hooks", `{"image":"a"}`))
	bucket := Bucket{"prod", "hooks"}
	admin, carol := t.Context(), WithRights(t.Context(), parties["deployer"])
	containers := WithRights(t.Context(), parties["containers"])
	set := func(value string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := w.service.SetConfig(ctx, bucket, ConfigChange{Set: map[string]string{"URL": value}})
			return err
		}
	}
	unset := func(ctx context.Context) error {
		_, err := w.service.SetConfig(ctx, bucket, ConfigChange{Unset: []string{"URL"}})
		return err
	}
	remove := func(ctx context.Context) error {
		_, err := w.service.DeleteWith(ctx, TargetOf(ref("prod", "hooks")), DeleteOptions{Prune: true})
		return err
	}
	for _, step := range []struct {
		name   string
		by     context.Context
		does   func(context.Context) error
		marked bool
	}{
		{"an admin sets it", admin, set("a"), false},
		{"a deployer sets it as it is", carol, set("a"), false},
		{"a deployer changes it", carol, set("b"), true},
		{"a deployer changes it again", carol, set("c"), true},
		{"an admin sets it as it is", admin, set("c"), false},
		{"containers change it", containers, set("d"), true},
		{"an admin changes it", admin, set("e"), false},
		{"a deployer changes it once more", carol, set("f"), true},
		{"a deployer removes it", carol, unset, false},
		{"an admin sets it again", admin, set("g"), false},
		{"a deployer changes it at last", carol, set("h"), true},
		{"its object is deleted with it", admin, remove, false},
	} {
		if err := step.does(step.by); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		read, err := w.service.opts.Reader.Fresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, marked := read.Get(records.ConfinedKey(records.ConfigAppPrefix("prod", "hooks") + "URL")); marked != step.marked {
			t.Errorf("%s: marked %v", step.name, marked)
		}
	}
}
