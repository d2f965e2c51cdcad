package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// asSync declares a sync and returns how it applies.
func (w *world) asSync(spec string) ApplyOptions {
	w.t.Helper()
	w.mustApply(syncObject(spec))
	stored := w.object(syncObject("").Ref())
	return ApplyOptions{Set: api.SyncSet(*stored), Sync: stored,
		FieldManager: FieldManager{Manager: api.SyncManager("shop")}}
}

const plainSync, trustedSync = `{"dir":"/a","scopes":["shop","bank"]}`, `{"dir":"/a","trusted":true}`

// TestAnUntrustedSyncChangesOnlyWhatItCreated: of what users made, not even in its own scopes, and not by leaving it as
// it is.
func TestAnUntrustedSyncChangesOnlyWhatItCreated(t *testing.T) {
	w := newWorld(t)
	vault := deployment("bank", "vault", `{"image":"vault","env":{"A":"1"}}`)
	w.mustApply(vault)
	opts := w.asSync(plainSync)
	before := w.object(vault.Ref())
	for _, spec := range []string{`{"image":"vault","command":["env"]}`, `{"image":"vault"}`, `{}`} {
		_, err := w.apply(opts, deployment("bank", "own", `{"image":"a"}`), deployment("bank", "vault", spec))
		var refused *source.Error
		if !errors.As(err, &refused) || refused.Reason != api.ReasonNotAllowed || refused.Next == "" {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if after := w.object(vault.Ref()); after.Metadata.Revision != before.Metadata.Revision ||
		w.object(ref("bank", "own")) != nil {
		t.Errorf("something was stored: %s", after.Spec)
	}
	own := deployment("bank", "own", `{"image":"a"}`)
	for _, image := range []string{"a", "b"} {
		own.Spec = json.RawMessage(`{"image":"` + image + `"}`)
		if _, err := w.apply(opts, own); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.apply(ApplyOptions{Set: "laptop", FieldManager: FieldManager{ForceConflicts: true}},
		deployment("bank", "own", `{"image":"b","env":{"B":"2"}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.apply(opts, own); err != nil {
		t.Errorf("of what it created and a user applied since: %v", err)
	}
	if _, err := w.apply(ApplyOptions{}, deployment("bank", "own", `{"env_from":["vault/keys"]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.apply(opts, own); err != nil {
		t.Errorf("without a change: %v", err)
	}
	var refused *source.Error
	if _, err := w.apply(opts, deployment("bank", "own", `{"image":"b","command":["env"]}`)); !errors.As(err,
		&refused) ||
		!strings.Contains(refused.Message, "env_from[0] names the scope vault") {
		t.Errorf("another program with the secrets that a user gave it: %v", err)
	}
	port := deployment("bank", "port", `{"image":"a"}`)
	if _, err := w.apply(opts, port); err != nil {
		t.Fatal(err)
	}
	w.mustApply(deployment("bank", "port", `{"ports":["127.0.0.1:8686:80"]}`))
	if _, err := w.apply(opts, port); err != nil {
		t.Errorf("without a change, at a port of Tend's: %v", err)
	}
	port.Spec = json.RawMessage(`{"image":"b"}`)
	if _, err := w.apply(opts, port); !errors.As(err, &refused) || !strings.Contains(refused.Message, "port 8686") {
		t.Errorf("another program at a port of Tend's that a user gave it: %v", err)
	}
	w.mustApply(deployment("shop", "web", `{"image":"a"}`))
	if _, err := w.apply(w.asSync(trustedSync), deployment("shop", "web", `{"image":"a","user":"1"}`)); err != nil {
		t.Errorf("trusted: %v", err)
	}
}

// TestASyncPrunesNothingOfAnAdmins: an untrusted sync doesn't delete what it created and to which an admin gave a part
// of the host, or another scope's config: what that keeps would go to the next object of its name, the sync's.
func TestASyncPrunesNothingOfAnAdmins(t *testing.T) {
	const narrowed = `{"dir":"/a","scopes":["shop"]}`
	web := deployment("shop", "web", `{"image":"a"}`)
	for name, tc := range map[string]struct {
		given, later string
		refused      bool
	}{
		"a folder":                         {`{"volumes":["/:/host"]}`, plainSync, true},
		"a folder, of a trusted one":       {`{"volumes":["/:/host"]}`, trustedSync, false},
		"a device":                         {`{"devices":["/dev/kvm"]}`, plainSync, true},
		"its network":                      {`{"network_mode":"host"}`, plainSync, true},
		"flags of the engine":              {`{"docker_options":["--privileged"]}`, plainSync, true},
		"another scope":                    {`{"env_from":["vault/keys"]}`, plainSync, true},
		"a port of Tend's, given up":       {`{"ports":["127.0.0.1:8686:80"]}`, plainSync, false},
		"nothing of the host":              {`{"env":{"A":"1"}}`, plainSync, false},
		"its scope, which the sync leaves": {`{"env_from":["db"]}`, narrowed, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Validate = api.ValidateObject })
			agent := deployment("bank", "agent", `{"image":"a"}`)
			if _, err := w.apply(w.asSync(plainSync), web, agent); err != nil {
				t.Fatal(err)
			}
			w.mustApply(deployment("bank", "agent", tc.given))
			opts := w.asSync(tc.later)
			opts.Prune = true
			before := w.revision()
			_, err := w.apply(opts, web)
			switch {
			case tc.refused:
				refused := wantReason(t, err, Forbidden)
				if !strings.Contains(refused.Detail, "deployment/bank/agent") || w.revision() != before {
					t.Errorf("it is %s; at revision %d, before %d", refused.Detail, w.revision(), before)
				}
			case err != nil || !w.object(agent.Ref()).Metadata.Deleting():
				t.Errorf("it isn't pruned: %v", err)
			}
		})
	}
}

// TestWhatASyncCreatesIsConfined: while the sync is not trusted. What a user creates never is.
func TestWhatASyncCreatesIsConfined(t *testing.T) {
	w := newWorld(t)
	web := deployment("shop", "web", `{"image":"a"}`)
	for _, step := range []struct {
		spec string
		want bool
	}{{plainSync, true}, {trustedSync, false}, {plainSync, true}} {
		if _, err := w.apply(w.asSync(step.spec), web); err != nil {
			t.Fatal(err)
		}
		if got := w.object(web.Ref()).Confined(); got != step.want {
			t.Errorf("by %s: confined %v", step.spec, got)
		}
	}
	if _, err := w.apply(ApplyOptions{FieldManager: FieldManager{ForceConflicts: true}},
		deployment("shop", "web", `{"image":"b"}`)); err != nil {
		t.Fatal(err)
	}
	if !w.object(web.Ref()).Confined() {
		t.Error("a user's apply frees what the sync set before")
	}
	w.mustApply(deployment("shop", "api", `{"image":"a"}`))
	if w.object(ref("shop", "api")).Confined() {
		t.Error("what a user created is confined")
	}
}

// fetching records for whom files are fetched, and fetches nothing.
type fetching struct {
	Assets
	confined []bool
}

func (f *fetching) Fetch(_ context.Context, _ api.AssetFile, confined, _ bool) (digest, warning string, err error) {
	f.confined = append(f.confined, confined)
	return api.AssetDigest([]byte("x")), "", nil
}

func TestAssetsOfAnUntrustedSyncAreFetchedConfined(t *testing.T) {
	assets := &fetching{}
	w := newWorld(t, func(o *Options) { o.Assets = assets })
	asset := api.Object{Kind: api.KindAsset, Scope: "shop", Name: "a",
		Spec: json.RawMessage(`{"files":{"a":{"_source":"url","url":"http://x/"}}}`)}
	for _, opts := range []func() ApplyOptions{
		func() ApplyOptions { return w.asSync(plainSync) }, func() ApplyOptions { return w.asSync(trustedSync) },
		func() ApplyOptions { return ApplyOptions{} },
	} {
		if _, err := w.apply(opts(), asset); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(assets.confined); got != "[true false false]" {
		t.Errorf("confined: %s", got)
	}
}

// TestASyncTakesItsFieldsBack: once its source no longer names an object of others, the fields that it set are gone,
// and those that others set alike stay. What it created itself stays, unless it is pruned.
func TestASyncTakesItsFieldsBack(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Validate = api.ValidateObject })
	vault, own := deployment("bank", "vault", `{"image":"vault","env":{"A":"1"}}`),
		deployment("bank", "own", `{"image":"a"}`)
	w.mustApply(vault)
	opts := w.asSync(trustedSync)
	if _, err := w.apply(opts, own,
		deployment("bank", "vault", `{"image":"vault","command":["env"],"env":{"B":"2"}}`)); err != nil {
		t.Fatal(err)
	}
	if got := string(w.object(vault.Ref()).Spec); !strings.Contains(got, `"command":["env"]`) {
		t.Fatalf("it is %s", got)
	}
	other := deployment("bank", "other", `{"image":"a"}`)
	if result, err := w.apply(opts, other); err != nil || fmt.Sprint(result.Withdrawn) != "[deployment/bank/vault]" ||
		len(result.Objects) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	after := w.object(vault.Ref())
	if string(after.Spec) != `{"env":{"A":"1"},"image":"vault"}` || after.Metadata.Generation != 3 ||
		strings.Contains(string(after.Metadata.Fields), "sync:shop") {
		t.Errorf("it is %s, generation %d, set by %s", after.Spec, after.Metadata.Generation, after.Metadata.Fields)
	}
	if kept := w.object(own.Ref()); kept == nil || string(kept.Spec) != `{"image":"a"}` {
		t.Errorf("what it created is %+v", kept)
	}
	before := w.revision()
	if _, err := w.apply(opts, other); err != nil || w.revision() != before {
		t.Errorf("again it writes something: %v", err)
	}
}

// TestARemovedSyncTakesItsFieldsBack: with --prune. Without, everything it applied stays.
func TestARemovedSyncTakesItsFieldsBack(t *testing.T) {
	for _, prune := range []bool{false, true} {
		w := newWorld(t)
		vault := deployment("bank", "vault", `{"image":"vault"}`)
		w.mustApply(vault)
		if _, err := w.apply(w.asSync(trustedSync), deployment("bank", "vault", `{"command":["env"]}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.service.DeleteWith(t.Context(), TargetOf(syncObject("").Ref()),
			DeleteOptions{Prune: prune}); err != nil {
			t.Fatal(err)
		}
		if gone := string(w.object(vault.Ref()).Spec) == `{"image":"vault"}`; gone != prune {
			t.Errorf("prune %v: it is %s", prune, w.object(vault.Ref()).Spec)
		}
	}
}

// TestASyncThatDeclaresItself: it can be deleted, with what it created and without.
func TestASyncThatDeclaresItself(t *testing.T) {
	for _, prune := range []bool{false, true} {
		w := newWorld(t)
		own := deployment("bank", "own", `{"image":"a"}`)
		if _, err := w.apply(w.asSync(trustedSync), syncObject(trustedSync), own); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			result, err := w.service.DeleteWith(t.Context(), TargetOf(syncObject("").Ref()),
				DeleteOptions{Prune: prune, DryRun: dry})
			if err != nil || prune != (len(result.Pruned) == 1) {
				t.Errorf("prune %v, dry run %v: %+v, %v", prune, dry, result, err)
			}
		}
		if w.object(syncObject("").Ref()) != nil {
			t.Errorf("prune %v: the sync is there", prune)
		}
	}
}

// TestADiffShowsWhatOthersSet: what a user's manifest leaves out and stays all the same.
func TestADiffShowsWhatOthersSet(t *testing.T) {
	w := newWorld(t)
	vault := deployment("bank", "vault", `{"image":"vault"}`)
	w.mustApply(vault)
	if _, err := w.apply(w.asSync(trustedSync),
		deployment("bank", "vault", `{"command":["env"],"env":{"DB_PASSWORD":"s3cret"}}`)); err != nil {
		t.Fatal(err)
	}
	result, err := w.apply(ApplyOptions{DryRun: true}, vault)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kept := range result.Objects[0].Kept {
		got = append(got, fmt.Sprintf("%s=%s by %s", kept.Path, kept.Value, kept.Manager))
	}
	if want := `command=["env"] by sync:shop, env.DB_PASSWORD="(hidden)" by sync:shop`; strings.Join(got,
		", ") != want {
		t.Errorf("kept %s, want %s", strings.Join(got, ", "), want)
	}
}
