package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// shelf stores files in memory; urls maps URLs to their content.
type shelf struct {
	mu       sync.Mutex
	files    map[string]bool
	urls     map[string]string
	warnings map[string]string
	// fetching is called by each fetch.
	fetching func()
}

func newShelf() *shelf {
	return &shelf{files: map[string]bool{}, urls: map[string]string{}, warnings: map[string]string{},
		fetching: func() {}}
}

func (s *shelf) Keep(content []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest := api.AssetDigest(content)
	s.files[digest] = true
	return digest, nil
}

func (s *shelf) Has(digest string, _ bool) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[digest], nil
}

func (s *shelf) Fetch(_ context.Context, file api.AssetFile, _, dry bool) (string, string, error) {
	s.fetching()
	content, ok := s.urls[file.URL]
	if !ok {
		return "", "", errors.New("fetch " + file.URL + ": no answer")
	}
	if dry {
		return api.AssetDigest([]byte(content)), s.warnings[file.URL], nil
	}
	digest, err := s.Keep([]byte(content))
	return digest, s.warnings[file.URL], err
}

func newAssetWorld(t *testing.T) (*world, *shelf) {
	s := newShelf()
	return newWorld(t, func(o *Options) { o.Assets = s }), s
}

// asset declares files as texts.
func asset(scope, name string, files map[string]string) api.Object {
	spec, _ := json.Marshal(map[string]any{"files": files})
	return api.Object{Kind: api.KindAsset, Scope: scope, Name: name, Spec: spec}
}

func digest(text string) string { return api.AssetDigest([]byte(text)) }

func (w *world) assets(ref api.Ref) map[string]string { return w.object(ref).AssetDigests() }

func TestConsumersAreStampedWithTheFilesTheyUse(t *testing.T) {
	w, s := newAssetWorld(t)
	w.mustApply(asset("prod", "conf", map[string]string{"nginx": "one", "other": "two"}),
		asset(api.Unscoped, "ca", map[string]string{"pem": "three"}),
		asset("other", "conf", map[string]string{"nginx": "four"}))
	w.mustApply(deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.nginx}:/a"],"env":{"A":"x${asset.ca.pem}","B":"$${asset.conf.gone}"},
		"command":["${asset.other.conf.nginx}"],"depends_on":{"assets":["conf.other"]},"on_deploy":{"success":[{"url":"http://x","file":"${asset.ca.pem}"}]}}`))
	want := map[string]string{"prod.conf.nginx": digest("one"), "prod.conf.other": digest("two"),
		"_.ca.pem": digest("three"), "other.conf.nginx": digest("four")}
	object := w.object(ref("prod", "web"))
	if diff := cmp.Diff(want, object.AssetDigests()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"_.ca.pem": digest("three")}, object.HookDigests()); diff != "" {
		t.Error(diff)
	}
	for _, digest := range want {
		if !s.files[digest] {
			t.Errorf("the bytes of %s are not kept", digest)
		}
	}
	w.mustApply(deployment("prod", "web", `{"image":"web"}`))
	if stamps := w.object(ref("prod", "web")).Metadata.Stamps; stamps[api.StampAssets] != "" ||
		stamps[api.StampHookAssets] != "" {
		t.Errorf("it uses no file any more, and is stamped %v", stamps)
	}
}

func TestAChangedFileRestampsItsUsersInTheSameCommit(t *testing.T) {
	w, _ := newAssetWorld(t)
	w.mustApply(asset("prod", "conf", map[string]string{"a": "one", "b": "same"}),
		deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.a}:/a"]}`),
		deployment("prod", "other", `{"image":"web","volumes":["${asset.conf.b}:/a"]}`),
		api.Object{Kind: api.KindCronJob, Scope: "far", Name: "backup",
			Spec: json.RawMessage(`{"image":"web","schedule":"@daily","command":["${asset.prod.conf.a}"]}`)})
	before := w.commits.Load()
	result := w.mustApply(asset("prod", "conf", map[string]string{"a": "two", "b": "same"}))
	if n := w.commits.Load() - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	var actions []string
	for _, object := range result.Objects {
		actions = append(actions, object.Ref.String()+" "+string(object.Action))
	}
	if diff := cmp.Diff([]string{"asset/prod/conf configured", "deployment/prod/web configured",
		"cronjob/far/backup configured"}, actions); diff != "" {
		t.Error(diff)
	}
	web := w.object(ref("prod", "web"))
	if got := web.AssetDigests()["prod.conf.a"]; got != digest("two") || web.Metadata.Generation != 1 ||
		web.Metadata.Revision != result.Revision {
		t.Errorf("stamped %s, generation %d, revision %d; its spec did not change", got, web.Metadata.Generation,
			web.Metadata.Revision)
	}
	changes := result.Objects[1].Changes
	if len(changes) != 1 || changes[0].Path != `assets["prod.conf.a"]` ||
		string(changes[0].New) != `"`+digest("two")+`"` {
		t.Errorf("reported as %v", changes)
	}
	again := w.mustApply(asset("prod", "conf", map[string]string{"a": "two", "b": "same"}))
	if again.Changed() || len(again.Objects) != 1 {
		t.Errorf("applied again: %v", again.Objects)
	}
}

func TestNamesOfTwoScopesAreTwoAssets(t *testing.T) {
	w, _ := newAssetWorld(t)
	for _, scope := range []string{"a", "b"} {
		w.mustApply(asset(scope, "conf", map[string]string{"k": "of " + scope}),
			deployment(scope, "web", `{"image":"web","volumes":["${asset.conf.k}:/a"]}`))
	}
	for _, scope := range []string{"a", "b"} {
		if got := w.assets(ref(scope, "web"))[scope+".conf.k"]; got != digest("of "+scope) {
			t.Errorf("%s has %s", scope, got)
		}
	}
	if _, err := w.service.Delete(t.Context(), Target{Kind: api.KindDeployment, Scope: "a", Name: "web"},
		""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Delete(t.Context(), Target{Kind: api.KindAsset, Scope: "a", Name: "conf"}, ""); err != nil {
		t.Fatal(err)
	}
	if w.object(api.Ref{Kind: api.KindAsset, Scope: "b", Name: "conf"}) == nil {
		t.Error("the other scope's asset went too")
	}
}

func TestAnOwnScopesFileGoesBeforeAnUnscopedOne(t *testing.T) {
	w, _ := newAssetWorld(t)
	w.mustApply(asset(api.Unscoped, "ca", map[string]string{"pem": "all"}),
		deployment("prod", "web", `{"image":"web","volumes":["${asset.ca.pem}:/a"]}`))
	w.mustApply(asset("prod", "ca", map[string]string{"pem": "own"}))
	if diff := cmp.Diff(map[string]string{"prod.ca.pem": digest("own")}, w.assets(ref("prod", "web"))); diff != "" {
		t.Error(diff)
	}
	if _, err := w.service.Delete(t.Context(), Target{Kind: api.KindAsset, Scope: "prod", Name: "ca"}, ""); err != nil {
		t.Errorf("it goes, the unscoped one is left: %v", err)
	}
}

func TestAFileThatIsNotThereRefusesTheApply(t *testing.T) {
	w, _ := newAssetWorld(t)
	w.mustApply(asset("prod", "conf", map[string]string{"a": "one"}))
	before := w.revision()
	for _, reference := range []string{"${asset.conf.b}", "${asset.gone.a}", "${asset.other.conf.a}"} {
		_, err := w.apply(ApplyOptions{}, deployment("prod", "new", `{"image":"web"}`),
			deployment("prod", "web", `{"image":"web","env":{"A":"`+reference+`"}}`))
		refused := wantReason(t, err, Invalid)
		if len(refused.Errors) != 1 || refused.Errors[0].Field != "env.A" ||
			!strings.Contains(refused.Errors[0].Detail, reference) {
			t.Errorf("refused with %v", refused.Errors)
		}
	}
	_, err := w.apply(ApplyOptions{}, deployment("prod", "web", `{"image":"web","depends_on":{"assets":["conf.b"]}}`))
	if refused := wantReason(t, err, Invalid); refused.Errors[0].Field != "depends_on.assets[0]" {
		t.Errorf("refused with %v", refused.Errors)
	}
	if w.revision() != before {
		t.Error("something was stored")
	}
}

func TestWhatIsUsedStays(t *testing.T) {
	w, _ := newAssetWorld(t)
	if _, err := w.apply(ApplyOptions{Set: "s"}, asset("prod", "conf", map[string]string{"a": "one", "b": "two"}),
		asset("prod", "free", map[string]string{"a": "x"}),
		deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.a}:/a"]}`)); err != nil {
		t.Fatal(err)
	}
	_, err := w.service.Delete(t.Context(), Target{Kind: api.KindAsset, Scope: "prod", Name: "conf"}, "")
	if refused := wantReason(t, err, InUse); !strings.Contains(refused.Errors[0].Detail,
		"deployment/prod/web uses it (volumes[0])") {
		t.Errorf("refused with %v", refused.Errors)
	}
	_, err = w.apply(ApplyOptions{}, asset("prod", "conf", map[string]string{"b": "two"}))
	wantReason(t, err, InUse)
	_, err = w.apply(ApplyOptions{Set: "s", Prune: true},
		deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.a}:/a"]}`))
	wantReason(t, err, Invalid) // its user is in the apply itself, and must change
	_, err = w.apply(ApplyOptions{Set: "s", Prune: true}, asset("prod", "free", map[string]string{"a": "x"}),
		deployment("prod", "new", `{"image":"web"}`))
	if err != nil {
		t.Errorf("user and used go together: %v", err)
	}
}

func TestPruningKeepsFromOthersWhatTheyUse(t *testing.T) {
	w, _ := newAssetWorld(t)
	if _, err := w.apply(ApplyOptions{Set: "s"}, asset("prod", "conf", map[string]string{"a": "one"}),
		deployment("prod", "x", `{"image":"web"}`)); err != nil {
		t.Fatal(err)
	}
	w.mustApply(deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.a}:/a"]}`))
	_, err := w.apply(ApplyOptions{Set: "s", Prune: true}, deployment("prod", "x", `{"image":"web"}`))
	wantReason(t, err, InUse)
}

func TestADryRunKeepsNoFileAndShowsTheWholePlan(t *testing.T) {
	s := newShelf()
	var planned []string
	w := newWorld(t, func(o *Options) {
		o.Assets = s
		o.Preview = func(_ records.Snapshot, next []api.Object, _ []api.Ref) ([]api.PlannedAction, error) {
			for _, object := range next {
				planned = append(planned, object.Ref().String())
			}
			return nil, nil
		}
	})
	s.urls["http://x/a"] = "new"
	w.mustApply(asset("prod", "conf", map[string]string{"a": "one"}),
		deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.a}:/a"]}`))
	before, revision := maps.Clone(s.files), w.revision()
	next := api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf",
		Spec: json.RawMessage(`{"files":{"a":"two","b":{"_source":"url","url":"http://x/a"},"c":{"_source":"file","content":"aGk="}}}`)}
	if _, err := w.apply(ApplyOptions{DryRun: true}, next); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.files); diff != "" || w.revision() != revision {
		t.Errorf("kept: %s", diff)
	}
	if diff := cmp.Diff([]string{"asset/prod/conf", "deployment/prod/web"}, planned); diff != "" {
		t.Error(diff)
	}
}

func TestARollbackIsStampedAsWhatItReturnsTo(t *testing.T) {
	w, _ := newAssetWorld(t)
	w.mustApply(asset("prod", "conf", map[string]string{"a": "one"}),
		asset("prod", "old", map[string]string{"a": "gone soon"}),
		deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.a}:/a","${asset.old.a}:/b"]}`))
	first := w.object(ref("prod", "web"))
	w.put(records.ReleaseKey(ref("prod", "web"), "v1"),
		api.Release{ID: "v1", Number: 1, Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: first.Spec,
			AssetDigests: first.AssetDigests()})
	w.mustApply(asset("prod", "conf", map[string]string{"a": "two"}),
		deployment("prod", "web", `{"image":"web:2","volumes":["${asset.conf.a}:/a"]}`))
	if _, err := w.service.Delete(t.Context(), Target{Kind: api.KindAsset, Scope: "prod", Name: "old"},
		""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")),
		RollbackOptions{Release: "v1"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"prod.conf.a": digest("two"), "prod.old.a": digest("gone soon")}
	if diff := cmp.Diff(want, w.assets(ref("prod", "web"))); diff != "" {
		t.Error(diff)
	}
	w.mustApply(asset("prod", "conf", map[string]string{"a": "two", "b": "new"}))
	if w.object(ref("prod", "web")).Metadata.Stamps[api.StampRollback] != "v1" {
		t.Error("what changes nothing for it ended the rollback")
	}
	w.mustApply(asset("prod", "conf", map[string]string{"a": "three", "b": "new"}))
	if stamps := w.object(ref("prod", "web")).Metadata.Stamps; stamps[api.StampRollback] != "" ||
		w.assets(ref("prod", "web"))["prod.old.a"] != digest("gone soon") {
		t.Errorf("a changed file is something new to ask for: %v", stamps)
	}
}

func TestWithoutAShelfThereAreNoAssets(t *testing.T) {
	w := newWorld(t)
	_, err := w.apply(ApplyOptions{}, asset("prod", "conf", map[string]string{"a": "one"}))
	wantReason(t, err, Invalid)
}
