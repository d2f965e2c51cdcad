package verbs

import (
	"context"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// TestADeployerChangesNoProgramOfAnAdmin: another source of what an admin lets reach the host is another program there, sent
// with an apply or alone. What reaches no host may be built.
func TestADeployerChangesNoProgramOfAnAdmin(t *testing.T) {
	w, s := newAssetWorld(t)
	one, two := digest("one"), digest("two")
	s.files[one], s.files[two] = true, true
	of := func(name, spec, tree string) api.Object {
		object := deployment("prod", name, spec)
		object.Metadata.Stamps = map[string]string{api.StampBuild: tree}
		return object
	}
	const host = `{"build":{},"volumes":["/:/host"]}`
	w.mustApply(of("agent", host, one), of("web", `{"build":{}}`, one))
	carol := WithRights(t.Context(), source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}})
	apply := func(ctx context.Context, object api.Object) error {
		_, err := w.service.Apply(ctx, []api.Object{object}, ApplyOptions{})
		return err
	}
	build := func(ctx context.Context, name string) error {
		_, err := w.service.SetBuild(ctx, TargetOf(ref("prod", name)), two, false, "carol")
		return err
	}
	before := w.revision()
	wantReason(t, apply(carol, of("agent", host, two)), Forbidden)
	wantReason(t, build(carol, "agent"), Forbidden)
	if err := apply(carol, of("agent", host, one)); err != nil || w.revision() != before {
		t.Errorf("unchanged: %v", err)
	}
	if err := build(carol, "web"); err != nil {
		t.Errorf("of her own: %v", err)
	}
	if err := build(t.Context(), "agent"); err != nil {
		t.Errorf("by an admin: %v", err)
	}
}
