package verbs

import (
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// TestNoResultNamesAnotherScope: what a deployer's call also changes is changed in other scopes, and named in its own;
// to an admin everywhere.
func TestNoResultNamesAnotherScope(t *testing.T) {
	spec := `{"image":"a","env_from":["sy/own"],"env":{"F":"${asset.sy.conf.a}","K":"set"}}`
	conf := func(text string) api.Object { return asset("sy", "conf", map[string]string{"a": text}) }
	for name, call := range map[string]func(w *world, rights source.Rights) (any, error){
		"an asset": func(w *world, rights source.Rights) (any, error) {
			return w.service.Apply(WithRights(w.t.Context(), rights), []api.Object{conf("b")}, ApplyOptions{})
		},
		"an asset, in a dry run": func(w *world, rights source.Rights) (any, error) {
			return w.service.Apply(WithRights(w.t.Context(), rights), []api.Object{conf("b")}, ApplyOptions{DryRun: true})
		},
		"config": func(w *world, rights source.Rights) (any, error) {
			return w.service.SetConfig(WithRights(w.t.Context(), rights), Bucket{Scope: "sy", Name: "own"},
				ConfigChange{Set: map[string]string{"K": "1", "L": "2"}})
		},
		"a rollback's dry run": func(w *world, rights source.Rights) (any, error) {
			return w.service.Rollback(WithRights(w.t.Context(), rights), TargetOf(ref("sy", "own")),
				RollbackOptions{Release: "v1", DryRun: true})
		},
	} {
		for party, rights := range map[string]source.Rights{
			"deployer": {Person: "carol is deployer of sy", Scopes: []string{"sy"}}, "admin": {Trusted: true},
		} {
			t.Run(party+"/"+name, func(t *testing.T) {
				w := newWorld(t, withKeys, func(o *Options) {
					o.Assets = newShelf()
					o.Preview = func(_ records.Snapshot, next []api.Object, _ []api.Ref) ([]api.PlannedAction, error) {
						return []api.PlannedAction{{Object: next[0].Ref(), Text: next[0].Ref().String()},
							{Object: ref("bank", "reader"), Text: "mint a release of deployment/bank/reader"}}, nil
					}
				})
				w.mustApply(conf("a"), deployment("sy", "own", spec), deployment("bank", "reader", spec))
				w.put(records.ReleaseKey(ref("sy", "own"), "v1"), api.Release{ID: "v1", Number: 1, Kind: api.KindDeployment, Scope: "sy",
					Name: "own", Spec: []byte(`{"image":"b"}`)})
				before := w.snapshot().Object(ref("bank", "reader")).Modified
				got, err := call(w, rights)
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(got)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), "bank") != (party == "admin") || !strings.Contains(string(text), "own") {
					t.Errorf("it says %s", text)
				}
				if after := w.snapshot().Object(ref("bank", "reader")).Modified; (after == before) != strings.Contains(name, "dry") {
					t.Errorf("the one of the other scope: revision %d, then %d", before, after)
				}
			})
		}
	}
}

// TestAConsumerInAnotherScopeIsNotNamed: it was declared rightly, and can't be written again as it is.
func TestAConsumerInAnotherScopeIsNotNamed(t *testing.T) {
	conf := func(text string) api.Object { return asset("sy", "conf", map[string]string{"a": text}) }
	w := newWorld(t, func(o *Options) { o.Assets = newShelf() })
	w.mustApply(conf("a"), deployment("bank", "vault", `{"image":"a"}`), deployment("bank", "reader",
		`{"image":"a","env":{"F":"${asset.sy.conf.a}"},"depends_on":{"workloads":["deployment/bank/vault"]}}`))
	if _, err := w.service.Delete(t.Context(), TargetOf(ref("bank", "vault")), ""); err != nil {
		t.Fatal(err)
	}
	gone := records.NewTxn("test").Delete(records.ObjectKey(ref("bank", "vault")))
	if _, err := gone.Commit(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	_, err := w.service.Apply(WithRights(t.Context(), source.Rights{Person: "carol", Scopes: []string{"sy"}}),
		[]api.Object{conf("b")}, ApplyOptions{})
	if err == nil || strings.Contains(err.Error(), "bank") || !strings.Contains(err.Error(), "a deployment of another scope") {
		t.Errorf("%v", err)
	}
	found := &faults{rights: &source.Rights{Scopes: []string{"sy"}}}
	if got := found.named(api.Ref{Kind: api.KindRegistry, Scope: api.Unscoped, Name: "r"}); got != "a registry without a scope" {
		t.Errorf("%q", got)
	}
}
