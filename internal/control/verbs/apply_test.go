package verbs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

func TestApplyGeneration(t *testing.T) {
	w := newWorld(t)
	steps := []struct {
		reason     string
		spec       string
		labels     map[string]string
		action     api.ApplyAction
		generation int64
	}{
		{"a new object begins at 1", `{"image":"web:1","replicas":2}`, nil, api.ActionCreated, 1},
		{"the same is not written", `{"image":"web:1","replicas":2}`, nil, api.ActionUnchanged, 1},
		{"white space and order of keys mean nothing", "{ \"replicas\": 2,\n \"image\":\"web:1\"}", nil,
			api.ActionUnchanged, 1},
		{"null is absent", `{"image":"web:1","replicas":2,"env":null}`, nil, api.ActionUnchanged, 1},
		{"a changed field is a new generation", `{"image":"web:2","replicas":2}`, nil, api.ActionConfigured, 2},
		{"labels are written, but are no generation", `{"image":"web:2","replicas":2}`, map[string]string{"a": "b"},
			api.ActionConfigured, 2},
		{"leaving a field out takes it back", `{"image":"web:2"}`, map[string]string{"a": "b"}, api.ActionConfigured,
			3},
	}
	for _, step := range steps {
		object := deployment("prod", "web", step.spec)
		object.Metadata.Labels = step.labels
		before := w.revision()
		got := w.mustApply(object).Objects[0]
		if got.Action != step.action || got.Generation != step.generation {
			t.Fatalf("%s: %s at generation %d, want %s at %d", step.reason, got.Action, got.Generation,
				step.action, step.generation)
		}
		if wrote := w.revision() != before; wrote != (step.action != api.ActionUnchanged) {
			t.Errorf("%s: wrote %v", step.reason, wrote)
		}
		if stored := w.snapshot().Object(ref("prod", "web")); got.Revision != stored.Modified {
			t.Errorf("%s: answered revision %d, stored at %d", step.reason, got.Revision, stored.Modified)
		}
	}
	stored := w.object(ref("prod", "web")).Metadata
	if stored.UID != "uid-1" || !stored.CreatedAt.Equal(testTime) ||
		!cmp.Equal(stored.Finalizers, []string{api.FinalizerTasks}) {
		t.Errorf("metadata was not kept: %+v", stored)
	}
}

func TestApplyIgnoresForeignMetadata(t *testing.T) {
	w := newWorld(t)
	object := deployment("prod", "web", `{"image":"web:1"}`)
	object.Metadata = api.Metadata{UID: "mine", Generation: 77, Stamps: map[string]string{api.StampRollback: "v9"},
		Finalizers: []string{"none"}, DeletedAt: &testTime}
	w.mustApply(object)
	got := w.object(ref("prod", "web")).Metadata
	if got.UID != "uid-1" || got.Generation != 1 || got.Stamps != nil || got.DeletedAt != nil ||
		got.Finalizers[0] != api.FinalizerTasks {
		t.Errorf("a manifest set what is Tend's: %+v", got)
	}
}

func TestApplyIsAllOrNothing(t *testing.T) {
	refuse := func(o *Options) {
		o.Validate = func(o api.Object) []api.FieldError {
			if strings.Contains(string(o.Spec), "bad") {
				return []api.FieldError{{Field: "image", Detail: "is bad"}}
			}
			return nil
		}
	}
	good := deployment("prod", "good", `{"image":"web:1"}`)
	cases := map[string]struct {
		reason string
		bad    []api.Object
		want   Reason
		faults int
	}{
		"invalid": {"one bad manifest stores none", []api.Object{deployment("prod", "x", `{"image":"bad"}`)}, Invalid,
			1},
		"two invalid": {"all faults are listed",
			[]api.Object{deployment("prod", "x", `{"image":"bad"}`), deployment("prod", "y", `{"image":"bad"}`)},
			Invalid, 2},
		"twice":   {"one name, two manifests", []api.Object{good}, Invalid, 1},
		"no spec": {"a spec is an object", []api.Object{deployment("prod", "x", `[1]`)}, Invalid, 1},
		"broken":  {"a spec is JSON", []api.Object{deployment("prod", "x", `{"image"`)}, Invalid, 1},
		"env_file": {"the server can't read the client's files",
			[]api.Object{deployment("prod", "x", `{"env_file":[".env"]}`)}, Invalid, 1},
		"no name": {"a name is needed", []api.Object{{Kind: api.KindDeployment}}, Invalid, 1},
		"name taken": {"a-b + c is a + b-c",
			[]api.Object{deployment("a", "b-c", `{}`), deployment("a-b", "c", `{}`)}, NameTaken, 1},
		"port taken": {"one port, two containers",
			[]api.Object{deployment("prod", "x", `{"ports":["3000:80"]}`),
				deployment("prod", "y", `{"ports":["3000:81"]}`)},
			PortTaken, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, refuse)
			before := w.revision()
			_, err := w.apply(ApplyOptions{}, append([]api.Object{good}, tc.bad...)...)
			refused := wantReason(t, err, tc.want)
			if len(refused.Errors) != tc.faults {
				t.Errorf("%s: %d faults, want %d: %v", tc.reason, len(refused.Errors), tc.faults, err)
			}
			for _, fault := range refused.Errors {
				if fault.Object == "" || fault.Detail == "" {
					t.Errorf("%s: the fault %+v doesn't say where or what", tc.reason, fault)
				}
			}
			if w.revision() != before {
				t.Errorf("%s: something was stored", tc.reason)
			}
		})
	}
}

func TestApplyRequest(t *testing.T) {
	w := newWorld(t)
	one := deployment("prod", "web", `{"image":"web:1"}`)
	many := make([]api.Object, api.MaxApplyObjects+1)
	for i := range many {
		many[i] = deployment("prod", fmt.Sprintf("web%d", i), `{}`)
	}
	cases := map[string]struct {
		objects []api.Object
		opts    ApplyOptions
		want    Reason
	}{
		"nothing":           {want: Invalid},
		"nothing to keep":   {opts: ApplyOptions{Prune: true, Set: "s"}, want: Invalid},
		"prune without set": {objects: []api.Object{one}, opts: ApplyOptions{Prune: true}, want: Invalid},
		"bad set":           {objects: []api.Object{one}, opts: ApplyOptions{Set: "a b"}, want: Invalid},
		"too many":          {objects: many, want: TooLarge},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := w.apply(tc.opts, tc.objects...)
			wantReason(t, err, tc.want)
		})
	}
}

func TestApplyTooLargeForACommit(t *testing.T) {
	w := newWorld(t)
	big := `{"image":"` + strings.Repeat("x", 9<<20) + `"}`
	before := w.revision()
	_, err := w.apply(ApplyOptions{}, deployment("prod", "a", big), deployment("prod", "b", big))
	wantReason(t, err, TooLarge)
	if w.revision() != before {
		t.Error("a part was stored")
	}
}

func TestApplyDryRun(t *testing.T) {
	var previewed []string
	w := newWorld(t, func(o *Options) {
		o.Preview = func(_ records.Snapshot, next []api.Object, deleted []api.Ref) ([]api.PlannedAction, error) {
			for _, object := range next {
				previewed = append(previewed, object.Ref().String())
			}
			for _, r := range deleted {
				previewed = append(previewed, "-"+r.String())
			}
			return []api.PlannedAction{{Text: "create 1"}}, nil
		}
	})
	if _, err := w.apply(ApplyOptions{Set: "s"}, deployment("prod", "old", `{"image":"web:1"}`),
		deployment("prod", "same", `{}`)); err != nil {
		t.Fatal(err)
	}
	before := w.revision()
	got, err := w.apply(ApplyOptions{DryRun: true, Set: "s", Prune: true},
		deployment("prod", "same", `{}`), deployment("prod", "new", `{"env":{"A":"1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if w.revision() != before {
		t.Error("a dry run wrote")
	}
	want := api.ApplyResult{
		Objects: []api.ObjectResult{
			{Ref: ref("prod", "same"), Action: api.ActionUnchanged, Generation: 1, Revision: before},
			{Ref: ref("prod", "new"), Action: api.ActionCreated, Generation: 1,
				Changes: []api.FieldChange{{Path: "env.A", New: []byte(`"1"`)}}},
		},
		Pruned: []api.Ref{ref("prod", "old")}, Plan: []api.PlannedAction{{Text: "create 1"}}, DryRun: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"deployment/prod/new", "-deployment/prod/old"}, previewed); diff != "" {
		t.Errorf("previewed: %s", diff)
	}
}

func TestPrune(t *testing.T) {
	w := newWorld(t)
	set := func(name string, prune bool, objects ...api.Object) api.ApplyResult {
		t.Helper()
		result, err := w.apply(ApplyOptions{Set: name, Prune: prune}, objects...)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	web, api1, db := deployment("prod", "web", `{}`), deployment("prod", "api", `{}`), deployment("prod", "db", `{}`)
	set("mine", false, web, api1)
	set("theirs", false, db)
	w.mustApply(deployment("prod", "nobodys", `{}`))

	got := set("mine", true, web)
	if diff := cmp.Diff([]api.Ref{api1.Ref()}, got.Pruned); diff != "" {
		t.Errorf("pruned: %s", diff)
	}
	for name, deleted := range map[string]bool{"web": false, "api": true, "db": false, "nobodys": false} {
		if w.object(ref("prod", name)).Metadata.Deleting() != deleted {
			t.Errorf("%s: deleting is not %v", name, deleted)
		}
	}
	if again := set("mine", true, web); len(again.Pruned) != 0 {
		t.Errorf("what is going already was pruned again: %v", again.Pruned)
	}
	if moved := set("other", false, db); moved.Objects[0].Action != api.ActionUnchanged {
		t.Errorf("applied from another set, an object is %s, want unchanged", moved.Objects[0].Action)
	}
	if got := set("other", true, web); len(got.Pruned) != 1 || got.Pruned[0] != db.Ref() {
		t.Errorf("the other set prunes %v, want what it took over", got.Pruned)
	}
	_, err := w.apply(ApplyOptions{}, api1)
	wantReason(t, err, Terminating)
}

func TestNameIsOwned(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("a", "b-c", `{}`))
	_, err := w.apply(ApplyOptions{}, deployment("a-b", "c", `{}`))
	if refused := wantReason(t, err, NameTaken); !strings.Contains(refused.Error(), "deployment/a/b-c") {
		t.Errorf("the owner isn't named: %v", err)
	}
	carol := WithRights(t.Context(), source.Rights{Person: "carol is deployer of a-b", Scopes: []string{"a-b"}})
	_, err = w.service.Apply(carol, []api.Object{deployment("a-b", "c", `{}`)}, ApplyOptions{})
	if refused := wantReason(t, err, NameTaken); strings.Contains(refused.Error(), "a/b-c") ||
		!strings.Contains(refused.Error(), "another scope") {
		t.Errorf("a person without that scope learns of the owner: %v", err)
	}
	owner := w.snapshot().NameOwner(ref("a-b", "c"))
	if !owner.Exists() || *owner.Value != ref("a", "b-c") {
		t.Errorf("the claim is %v", owner.Value)
	}
}

func TestForceAndRollbackStamps(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	pinned := *w.object(ref("prod", "web"))
	pinned.Metadata.Stamps = map[string]string{api.StampRollback: "v1"}
	w.put(records.ObjectKey(pinned.Ref()), pinned)

	w.mustApply(deployment("prod", "web", `{"image":"web:1","replicas":3}`))
	if w.object(ref("prod", "web")).Metadata.Stamps[api.StampRollback] != "v1" {
		t.Error("a change of replicas lifted the pin of a rollback")
	}
	w.mustApply(deployment("prod", "web", `{"image":"web:2","replicas":3}`))
	if _, pinned := w.object(ref("prod", "web")).Metadata.Stamps[api.StampRollback]; pinned {
		t.Error("a changed spec kept the pin of a rollback")
	}
	result, err := w.apply(ApplyOptions{Force: true}, deployment("prod", "web", `{"image":"web:2","replicas":3}`))
	if err != nil || result.Objects[0].Action != api.ActionConfigured || result.Objects[0].Generation != 3 {
		t.Errorf("force: %+v, %v; want configured at generation 3", result, err)
	}
	if w.object(ref("prod", "web")).Metadata.Stamps[api.StampPull] == "" {
		t.Error("force did not ask for the image again")
	}
}
