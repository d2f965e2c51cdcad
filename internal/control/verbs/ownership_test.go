package verbs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ownership"
	"tend.dev/tend/internal/store/records"
)

var scaler = FieldManager{Manager: "scaler", Actor: "cpu"}

// owners returns who set what of prod/web, one line each.
func (w *world) owners() []string {
	w.t.Helper()
	object := w.object(ref("prod", "web"))
	spec, err := ownership.Parse(object.Spec)
	if err != nil {
		w.t.Fatal(err)
	}
	lines, err := ownership.Blame(ownership.Stored{Spec: spec, Fields: object.Metadata.Fields,
		Since: object.Metadata.UpdatedAt})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%s=%s %s", l.Path, l.Value, l.Manager))
	}
	return out
}

func (w *world) wantOwners(reason string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.owners()); diff != "" {
		w.t.Errorf("%s: %s", reason, diff)
	}
}

// scaled returns a world where people applied prod/web and the scaler set its replicas.
func scaled(t *testing.T, replicas int, change ...func(*Options)) *world {
	w := newWorld(t, change...)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	result, err := w.service.Scale(t.Context(), Target{Name: "web"}, replicas, scaler)
	if err != nil || !result.Changed || result.Generation != 2 {
		t.Fatalf("%+v, %v; want generation 2", result, err)
	}
	return w
}

func TestApplyKeepsWhatOthersOwn(t *testing.T) {
	w := scaled(t, 4)
	before := w.revision()
	if got := w.mustApply(deployment("prod", "web", `{"image":"web:1"}`)).Objects[0]; got.Action != api.ActionUnchanged ||
		w.revision() != before {
		t.Errorf("the same file again is %+v, want unchanged and not written", got)
	}
	got := w.mustApply(deployment("prod", "web", `{"image":"web:2"}`)).Objects[0]
	if got.Generation != 3 || len(got.Changes) != 1 {
		t.Errorf("%+v, want one change at generation 3", got)
	}
	w.wantOwners("replicas are not in the file", `image="web:2" apply`, `replicas=4 scaler`)

	joined := w.mustApply(deployment("prod", "web", `{"image":"web:2","replicas":4}`)).Objects[0]
	if joined.Generation != 3 || joined.Action != api.ActionConfigured || len(joined.Changes) != 0 {
		t.Errorf("%+v, want configured at generation 3 without a change of the spec", joined)
	}
	w.wantOwners("the same value", `image="web:2" apply`, `replicas=4 scaler`, `replicas=4 apply`)
	_, err := w.service.Scale(t.Context(), Target{Name: "web"}, 5, scaler)
	if refused := wantReason(t, err, FieldOwned); refused.Errors[0].Field != "replicas" {
		t.Errorf("%v, want replicas named", err)
	}
	w.mustApply(deployment("prod", "web", `{"image":"web:2"}`))
	w.wantOwners("released again", `image="web:2" apply`, `replicas=4 scaler`)
}

// TestACommandThatConflicts gets a next step that a command has: there is no manifest to leave a field out of.
func TestACommandThatConflicts(t *testing.T) {
	for name, test := range map[string]struct {
		by   FieldManager
		next string
	}{
		"sync": {FieldManager{Manager: api.SyncManager("shop")},
			"change it in the source of sync shop, or set it here all the same with --force-conflicts"},
		"other": {scaler, "change it where scaler has it, or set it here all the same with --force-conflicts"},
	} {
		w := newWorld(t)
		w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
		shop := api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: "shop"}
		w.put(records.ObjectKey(shop.Ref()), shop)
		if _, err := w.service.Scale(t.Context(), Target{Name: "web"}, 4, test.by); err != nil {
			t.Fatal(err)
		}
		_, err := w.service.Scale(t.Context(), Target{Name: "web"}, 5, FieldManager{})
		if refused := wantReason(t, err, FieldOwned); refused.Next != test.next {
			t.Errorf("%s: next is %q", name, refused.Next)
		}
		if _, err := w.service.Scale(t.Context(), Target{Name: "web"}, 5, FieldManager{ForceConflicts: true}); err != nil {
			t.Errorf("%s: forced: %v", name, err)
		}
	}
}

func TestApplyConflict(t *testing.T) {
	w := scaled(t, 4)
	before := w.revision()
	file := deployment("prod", "web", `{"image":"web:2","replicas":2}`)
	_, err := w.apply(ApplyOptions{}, deployment("prod", "other", `{}`), file)
	refused := wantReason(t, err, FieldOwned)
	want := []api.FieldError{{Object: "deployment/prod/web", Field: "replicas", Detail: "scaler (cpu) set it to 4 at " +
		testTime.Format(time.RFC3339)}}
	if diff := cmp.Diff(want, refused.Errors); diff != "" || !strings.Contains(refused.Next, "--force-conflicts") {
		t.Errorf("%s next %q", diff, refused.Next)
	}
	if w.revision() != before {
		t.Error("something was stored")
	}
	dry, err := w.apply(ApplyOptions{DryRun: true}, file)
	if err != nil || len(dry.Objects[0].Conflicts) != 1 || dry.Objects[0].Conflicts[0].Manager != "scaler" ||
		len(dry.Objects[0].Changes) != 2 {
		t.Errorf("dry run: %+v, %v; want the changes and the conflict", dry, err)
	}
	forced, err := w.apply(ApplyOptions{FieldManager: FieldManager{ForceConflicts: true}}, file)
	if err != nil || len(forced.Objects[0].Conflicts) != 1 {
		t.Errorf("forced: %+v, %v; want what was taken", forced, err)
	}
	w.wantOwners("taken over", `image="web:2" apply`, `replicas=2 apply`)
}

// TestStoredBeforeOwners: an object without a record belongs to users, and applying the same file writes nothing.
func TestStoredBeforeOwners(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1","replicas":2,"env":{"A":"1"}}`))
	object := *w.object(ref("prod", "web"))
	object.Metadata.Fields = nil
	w.put(records.ObjectKey(object.Ref()), object)
	before := w.revision()
	w.mustApply(deployment("prod", "web", `{"image":"web:1","replicas":2,"env":{"A":"1"}}`))
	if w.revision() != before {
		t.Error("an unchanged object was written")
	}
	_, err := w.service.Scale(t.Context(), Target{Name: "web"}, 5, scaler)
	wantReason(t, err, FieldOwned)
	w.mustApply(deployment("prod", "web", `{"image":"web:2"}`))
	w.wantOwners("it becomes what is applied", `image="web:2" apply`)
}

// TestManagerOfAPart: a manager declares only what it owns; the whole object is validated, and it doesn't own the
// labels.
func TestManagerOfAPart(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Validate = func(o api.Object) []api.FieldError {
			if !strings.Contains(string(o.Spec), `"image"`) {
				return []api.FieldError{{Field: "image", Detail: "is needed"}}
			}
			return nil
		}
	})
	updater := ApplyOptions{FieldManager: FieldManager{Manager: "updater"}}
	_, err := w.apply(updater, deployment("prod", "web", `{"env":{"A":"1"}}`))
	wantReason(t, err, Invalid)
	file := deployment("prod", "web", `{"image":"web:1"}`)
	file.Metadata.Labels = map[string]string{"team": "a"}
	w.mustApply(file)
	if _, err := w.apply(updater, deployment("prod", "web", `{"image":"web:1","env":{"A":"1"}}`)); err != nil {
		t.Fatal(err)
	}
	file.Spec = []byte(`{"replicas":2}`)
	w.mustApply(file)
	w.wantOwners("the image is the updater's now", `env.A="1" updater`, `image="web:1" updater`, `replicas=2 apply`)
	if w.object(ref("prod", "web")).Metadata.Labels["team"] != "a" {
		t.Error("another manager's apply took people's labels")
	}
	_, err = w.apply(ApplyOptions{FieldManager: FieldManager{Manager: "Not A Name"}}, file)
	wantReason(t, err, Invalid)
}

func TestScaleOwnership(t *testing.T) {
	w := scaled(t, 4)
	_, err := w.service.Scale(t.Context(), Target{Name: "web"}, 2, FieldManager{})
	wantReason(t, err, FieldOwned)
	w.wantOwners("refused", `image="web:1" apply`, `replicas=4 scaler`)
	forced, err := w.service.Scale(t.Context(), Target{Name: "web"}, 2, FieldManager{ForceConflicts: true})
	if err != nil || !forced.Changed || forced.Generation != 3 {
		t.Fatalf("%+v, %v; want generation 3", forced, err)
	}
	w.wantOwners("taken over", `image="web:1" apply`, `replicas=2 apply`)
	if again, err := w.service.Scale(t.Context(), Target{Name: "web"}, 2, FieldManager{Actor: "eve"}); err != nil ||
		again.Changed {
		t.Errorf("the same again: %+v, %v; want unchanged", again, err)
	}
}

func TestRollbackKeepsReplicasAndTheirOwner(t *testing.T) {
	w := scaled(t, 4)
	w.release(1, "web:0", "a")
	w.release(2, "web:1", "b")
	if _, err := w.service.Rollback(t.Context(), Target{Name: "web"},
		RollbackOptions{Release: "v1", FieldManager: FieldManager{Actor: "ann"}}); err != nil {
		t.Fatal(err)
	}
	w.wantOwners("replicas stay whose they are", `image="web:0" apply`, `replicas=4 scaler`)
	if _, err := w.apply(ApplyOptions{FieldManager: FieldManager{Manager: "updater", ForceConflicts: true}},
		deployment("prod", "web", `{"image":"web:9"}`)); err != nil {
		t.Fatal(err)
	}
	_, err := w.service.Rollback(t.Context(), Target{Name: "web"}, RollbackOptions{Release: "v2"})
	wantReason(t, err, FieldOwned)
	if _, err := w.service.Rollback(t.Context(), Target{Name: "web"},
		RollbackOptions{Release: "v2", FieldManager: FieldManager{ForceConflicts: true}}); err != nil {
		t.Fatal(err)
	}
	w.wantOwners("by force", `image="web:1" apply`, `replicas=4 scaler`)
}

// TestARollbackLeavesNothingOfOthers: fields that another manager has added since the release go.
func TestARollbackLeavesNothingOfOthers(t *testing.T) {
	w := newWorld(t)
	bad := w.asSync(trustedSync)
	web := deployment("prod", "web", `{"image":"web:1"}`)
	w.mustApply(web)
	w.release(1, "web:1", "a")
	if _, err := w.apply(bad, deployment("prod", "web", `{"image":"web:1","command":["bad"]}`)); err != nil {
		t.Fatal(err)
	}
	w.release(2, "web:1", "b")
	_, err := w.service.Rollback(t.Context(), TargetOf(web.Ref()), RollbackOptions{Release: "v1"})
	wantReason(t, err, FieldOwned)
	if _, err := w.service.Rollback(t.Context(), TargetOf(web.Ref()),
		RollbackOptions{Release: "v1", FieldManager: FieldManager{ForceConflicts: true}}); err != nil {
		t.Fatal(err)
	}
	if spec := string(w.object(web.Ref()).Spec); spec != `{"image":"web:1"}` {
		t.Errorf("by force: %s", spec)
	}
	if _, err := w.apply(bad, deployment("prod", "web", `{"image":"web:1","command":["bad"]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Delete(t.Context(), TargetOf(syncObject("").Ref()), "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Rollback(t.Context(), TargetOf(web.Ref()), RollbackOptions{Release: "v1"}); err != nil {
		t.Fatal(err)
	}
	if spec := string(w.object(web.Ref()).Spec); spec != `{"image":"web:1"}` {
		t.Errorf("of a sync that is gone: %s", spec)
	}
}

// TestAWithdrawalEndsARollback: what a sync takes back reaches the pods of what was rolled back.
func TestAWithdrawalEndsARollback(t *testing.T) {
	w := newWorld(t)
	sync := w.asSync(trustedSync)
	web := deployment("prod", "web", `{"image":"web:1"}`)
	w.mustApply(web)
	if _, err := w.apply(sync, deployment("prod", "web", `{"command":["run"]}`)); err != nil {
		t.Fatal(err)
	}
	w.put(records.ObjectKey(web.Ref()), func() api.Object {
		object := *w.object(web.Ref())
		object.Metadata.Stamps = with(object.Metadata.Stamps, api.StampRollback, "v1")
		return object
	}())
	if _, err := w.apply(sync, deployment("prod", "other", `{"image":"web:1"}`)); err != nil {
		t.Fatal(err)
	}
	if object := w.object(web.Ref()); string(object.Spec) != `{"image":"web:1"}` ||
		object.Metadata.Stamps[api.StampRollback] != "" {
		t.Errorf("%s, rolled back to %s", object.Spec, object.Metadata.Stamps[api.StampRollback])
	}
}

// TestVerbsThatOwnNothing: what changes no field of the spec changes no owner.
func TestVerbsThatOwnNothing(t *testing.T) {
	for verb, do := range map[string]func(w *world) error{
		"restart": func(w *world) error {
			_, err := w.service.Restart(t.Context(), Target{Name: "web"},
				"ann")
			return err
		},
		"freeze": func(w *world) error {
			_, err := w.service.Freeze(t.Context(), Target{Name: "web"}, nil, "ann")
			return err
		},
		"thaw": func(w *world) error {
			_, err := w.service.Thaw(t.Context(), Target{Name: "web"}, nil, "ann")
			return err
		},
		"delete": func(w *world) error {
			_, err := w.service.Delete(t.Context(), Target{Name: "web"},
				"ann")
			return err
		},
	} {
		t.Run(verb, func(t *testing.T) {
			w := scaled(t, 4)
			before := string(w.object(ref("prod", "web")).Metadata.Fields)
			if err := do(w); err != nil {
				t.Fatal(err)
			}
			if after := string(w.object(ref("prod", "web")).Metadata.Fields); after != before || before == "" {
				t.Errorf("the record became %s, was %s", after, before)
			}
		})
	}
}
