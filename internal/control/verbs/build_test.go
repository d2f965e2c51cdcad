package verbs

import (
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

func built(name, tree string) api.Object {
	object := deployment("prod", name, `{"build":{}}`)
	if tree != "" {
		object.Metadata.Stamps = map[string]string{api.StampBuild: tree}
	}
	return object
}

func TestAnAppliedTreeIsStampedBesideTheSpec(t *testing.T) {
	w, s := newAssetWorld(t)
	one, two := digest("one"), digest("two")
	s.files[one], s.files[two] = true, true
	first := w.mustApply(built("web", one))
	web := w.object(ref("prod", "web"))
	if web.Tree() != one || string(web.Spec) != `{"build":{}}` || first.Objects[0].Build != one[7:19] {
		t.Errorf("stamped %v, spec %s, reported %q", web.Metadata.Stamps, web.Spec, first.Objects[0].Build)
	}
	if again := w.mustApply(built("web", one)); again.Changed() {
		t.Errorf("the same tree: %v", again.Objects)
	}
	if again := w.mustApply(built("web", "")); again.Changed() || w.object(ref("prod", "web")).Tree() != one {
		t.Errorf("without a tree it keeps the one it has: %v", again.Objects)
	}
	next := w.mustApply(built("web", two))
	changes := next.Objects[0].Changes
	if len(changes) != 1 || changes[0].Path != "build.source" || string(changes[0].New) != `"`+two+`"` ||
		next.Objects[0].Generation != 1 {
		t.Errorf("reported as %v, generation %d", changes, next.Objects[0].Generation)
	}
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	if stamps := w.object(ref("prod", "web")).Metadata.Stamps; stamps[api.StampBuild] != "" {
		t.Errorf("an image it declares is built from nothing: %v", stamps)
	}
}

func TestForceBuildsAgainUntilTheTreeChanges(t *testing.T) {
	w, s := newAssetWorld(t)
	one, two := digest("one"), digest("two")
	s.files[one], s.files[two] = true, true
	plain := w.mustApply(built("web", one)).Objects[0].Build
	forced, err := w.apply(ApplyOptions{Force: true}, built("web", one))
	if err != nil || forced.Objects[0].Build == plain {
		t.Fatalf("by force it is build %s as before: %v", forced.Objects[0].Build, err)
	}
	if kept := w.mustApply(built("web", one)).Objects[0].Build; kept != forced.Objects[0].Build {
		t.Errorf("the next apply goes back to build %s", kept)
	}
	w.mustApply(built("web", two))
	if back := w.mustApply(built("web", one)).Objects[0].Build; back != plain {
		t.Errorf("going back to the tree is build %s, not the first one %s", back, plain)
	}
}

func TestATreeHasToBeHere(t *testing.T) {
	w, _ := newAssetWorld(t)
	before := w.revision()
	for name, test := range map[string]struct{ tree, want string }{
		"none was sent":     {"", "its source was not sent"},
		"it isn't here":     {digest("gone"), "is not here"},
		"it isn't a digest": {"sha256:../../x", "is not the digest"},
	} {
		_, err := w.apply(ApplyOptions{}, deployment("prod", "other", `{"image":"web"}`), built("web", test.tree))
		refused := wantReason(t, err, Invalid)
		if len(refused.Errors) != 1 || refused.Errors[0].Field != "build" ||
			!strings.Contains(refused.Errors[0].Detail, test.want) || refused.Next == "" {
			t.Errorf("%s: refused with %v, next %q", name, refused.Errors, refused.Next)
		}
	}
	if w.revision() != before {
		t.Error("something was stored")
	}
	if _, err := w.apply(ApplyOptions{DryRun: true}, built("web", digest("gone"))); err != nil {
		t.Errorf("a dry run comes before the upload: %v", err)
	}
}

// TestTheSameAfterAFailureIsTriedAgain: a failed build never counts as done.
func TestTheSameAfterAFailureIsTriedAgain(t *testing.T) {
	w, s := newAssetWorld(t)
	one := digest("one")
	s.files[one] = true
	image := "prod-web:" + w.mustApply(built("web", one)).Objects[0].Build
	w.put(records.ImageStatusKey("n1", ref("prod", "web")),
		api.ImageStatus{Owner: ref("prod", "web"), Node: "n1", Image: image, State: api.ImageFailed})
	w.mustApply(built("web", one))
	if w.object(ref("prod", "web")).Metadata.Stamps[api.StampPull] == "" {
		t.Error("no one asks for another try")
	}
}

func TestSetBuild(t *testing.T) {
	w, s := newAssetWorld(t)
	one, two := digest("one"), digest("two")
	s.files[one], s.files[two] = true, true
	target := TargetOf(ref("prod", "web"))
	if _, err := w.service.SetBuild(t.Context(), target, one, false, ""); err == nil {
		t.Error("there is no such object")
	}
	w.mustApply(built("web", one), deployment("prod", "pulled", `{"image":"web"}`))
	result, err := w.service.SetBuild(t.Context(), target, two, false, "")
	if err != nil || !result.Changed || result.Build != two[7:19] || w.object(ref("prod", "web")).Tree() != two {
		t.Errorf("%+v, %v", result, err)
	}
	if again, err := w.service.SetBuild(t.Context(), target, two, false, ""); err != nil || again.Changed {
		t.Errorf("the same tree again: %+v, %v", again, err)
	}
	if forced, err := w.service.SetBuild(t.Context(), target, two, true, ""); err != nil || !forced.Changed ||
		forced.Build == result.Build {
		t.Errorf("by force: %+v, %v", forced, err)
	}
	_, err = w.service.SetBuild(t.Context(), target, digest("gone"), false, "")
	wantReason(t, err, Invalid)
	_, err = w.service.SetBuild(t.Context(), TargetOf(ref("prod", "pulled")), two, false, "")
	wantReason(t, err, Invalid)
}

// TestASourceOfADeployerIsConfined: whether it comes with an apply or alone. The same source again is still the
// admin's.
func TestASourceOfADeployerIsConfined(t *testing.T) {
	w, s := newAssetWorld(t)
	one, two := digest("one"), digest("two")
	s.files[one], s.files[two] = true, true
	carol := WithRights(t.Context(), source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}})
	carol = WithSent(carol, func(string) bool { return true })
	for name, send := range map[string]func(object api.Object, tree string) error{
		"applied": func(object api.Object, tree string) error {
			_, err := w.service.Apply(carol, []api.Object{built(object.Name, tree)}, ApplyOptions{})
			return err
		},
		"alone": func(object api.Object, tree string) error {
			_, err := w.service.SetBuild(carol, TargetOf(object.Ref()), tree, false, "carol")
			return err
		},
	} {
		web := built(name, one)
		w.mustApply(web)
		for _, tree := range []string{one, two} {
			if err := send(web, tree); err != nil || w.object(web.Ref()).Confined() != (tree == two) {
				t.Errorf("%s: %s is confined %v: %v", name, tree, w.object(web.Ref()).Confined(), err)
			}
		}
	}
}

// TestWhatADeployerDeclaredStaysConfined: once an admin rolls back to it, or applies other fields without a source.
func TestWhatADeployerDeclaredStaysConfined(t *testing.T) {
	w, s := newAssetWorld(t)
	one, two := digest("one"), digest("two")
	s.files[one], s.files[two] = true, true
	web := ref("prod", "web")
	w.mustApply(built("web", one))
	for _, release := range []api.Release{{ID: "v1", Number: 1, Confined: true}, {ID: "v2", Number: 2}} {
		release.Kind, release.Scope, release.Name = web.Kind, web.Scope, web.Name
		release.Spec, release.Build = json.RawMessage(`{"build":{}}`), api.NewImageBuild(one, api.Build{})
		w.put(records.ReleaseKey(web, release.ID), release)
	}
	back := func(release string, want bool) {
		t.Helper()
		if _, err := w.service.Rollback(t.Context(), TargetOf(web), RollbackOptions{Release: release}); err != nil ||
			w.object(web).Confined() != want {
			t.Errorf("%s: confined %v: %v", release, w.object(web).Confined(), err)
		}
	}
	back("v2", false)
	back("v1", true)
	other := built("web", "")
	other.Spec = json.RawMessage(`{"build":{},"user":"1"}`)
	if w.mustApply(other); !w.object(web).Confined() {
		t.Error("an admin's apply without a source frees the source of a deployer")
	}
	other.Metadata.Stamps, other.Spec = map[string]string{api.StampBuild: two},
		json.RawMessage(`{"build":{},"user":"2"}`)
	if w.mustApply(other); w.object(web).Confined() {
		t.Error("what an admin sends whole is confined")
	}
}

func TestARollbackReturnsToItsTree(t *testing.T) {
	w, s := newAssetWorld(t)
	one, two := digest("one"), digest("two")
	s.files[one], s.files[two] = true, true
	w.mustApply(built("web", one))
	w.put(records.ReleaseKey(ref("prod", "web"), "v1"),
		api.Release{ID: "v1", Number: 1, Kind: api.KindDeployment, Scope: "prod", Name: "web",
			Spec: json.RawMessage(`{"build":{}}`), Build: api.NewImageBuild(one, api.Build{})})
	w.mustApply(built("web", two))
	if _, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")),
		RollbackOptions{Release: "v1"}); err != nil {
		t.Fatal(err)
	}
	if web := w.object(ref("prod", "web")); web.Tree() != one || web.Metadata.Stamps[api.StampRollback] != "v1" {
		t.Errorf("stamped %v", web.Metadata.Stamps)
	}
	w.mustApply(built("web", two))
	if stamps := w.object(ref("prod", "web")).Metadata.Stamps; stamps[api.StampRollback] != "" {
		t.Errorf("another tree is something new to ask for: %v", stamps)
	}
}
