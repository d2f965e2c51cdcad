package verbs

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// TestADeployerLearnsAllRefusalsAtOnce: of every object, by what is in it and by its kind and scope.
func TestADeployerLearnsAllRefusalsAtOnce(t *testing.T) {
	w := newWorld(t)
	carol := WithRights(t.Context(), source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}})
	_, err := w.service.Apply(carol, []api.Object{
		deployment("prod", "web", `{"image":"web:1","volumes":["/:/host"],"devices":["/dev/sda:/dev/sda"],"env_from":["other/web"]}`),
		deployment("prod", "api", `{"image":"api:1","cap_add":["NET_ADMIN"]}`),
		deployment("prod", "fine", `{"image":"fine:1"}`),
	}, ApplyOptions{})
	refused := wantReason(t, err, Forbidden)
	var got []string
	for _, fault := range refused.Errors {
		got = append(got, fault.Object+": "+fault.Detail)
	}
	const who = ", and carol is deployer of prod"
	want := []string{
		"deployment/prod/web: volumes reaches the host" + who,
		"deployment/prod/web: devices reaches the host" + who,
		"deployment/prod/web: env_from[0] names the scope other" + who,
		"deployment/prod/api: cap_add reaches the host" + who,
	}
	if diff := cmp.Diff(want, got); diff != "" || refused.Detail != "4 refusals; nothing was stored" {
		t.Errorf("%s (-want +got):\n%s", refused.Detail, diff)
	}
	err = CheckRights(carol, []api.Object{deployment("other", "web", `{}`),
		{Kind: api.KindSink, Scope: api.Unscoped, Name: "log"}})
	if refused = wantReason(t, err, Forbidden); len(refused.Errors) != 2 ||
		refused.Errors[1].Detail != "concerns the whole cluster"+who {
		t.Errorf("%+v", refused)
	}
}

// TestADeployerChangesNoProgramOfAnAdmin: a deployer may not change the source of a program that an admin lets reach
// the host, neither with an apply nor alone. The source of one that reaches no host may be built.
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
	carol = WithSent(carol, func(string) bool { return true })
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
