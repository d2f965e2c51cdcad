package verbs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func syncObject(spec string) api.Object {
	return api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: "shop", Spec: json.RawMessage(spec)}
}

// TestSecretsOfASyncAreSealed: also those in its URL. Applying the same again changes nothing.
func TestSecretsOfASyncAreSealed(t *testing.T) {
	for name, tc := range map[string]struct{ spec, url, username string }{
		"in the URL": {`{"git":"https://me:hunter2@host.example/x"}`, "https://host.example/x", "me"},
		"a token":    {`{"git":"https://hunter2@host.example/x"}`, "https://host.example/x", "token"},
		"beside it": {`{"git":"https://host.example/x","username":"me","password":"hunter2"}`,
			"https://host.example/x", "me"},
		"login of ssh": {`{"git":"ssh://git@host.example/x","ssh_key":"hunter2"}`, "ssh://git@host.example/x", ""},
	} {
		w := newRegistryWorld(t)
		created := w.mustApply(syncObject(tc.spec))
		stored := w.object(syncObject("").Ref())
		all, _ := json.Marshal([]any{created, stored})
		if strings.Contains(string(all), "hunter2") {
			t.Errorf("%s: the secret is shown: %s", name, all)
		}
		spec, err := api.DecodeSpec[api.SyncSpec](*stored)
		if err != nil || spec.Git != tc.url || spec.Username != tc.username {
			t.Errorf("%s: %+v, %v", name, spec, err)
		}
		if plain, err := records.OpenToken(spec.Password+spec.SSHKey, unseal); plain != "hunter2" || err != nil {
			t.Errorf("%s: it opens as %q, %v", name, plain, err)
		}
		if again := w.mustApply(syncObject(tc.spec)); again.Objects[0].Action != api.ActionUnchanged {
			t.Errorf("%s: the same again is %s", name, again.Objects[0].Action)
		}
	}
}

// TestASetOfASync: who isn't the sync doesn't apply as its set, which would say that the sync created the objects.
func TestASetOfASync(t *testing.T) {
	w := newWorld(t)
	web := api.Object{Kind: api.KindDeployment, Scope: "shop", Name: "web", Spec: json.RawMessage(`{"image":"a"}`)}
	for _, set := range []string{"sync:shop/uid", "sync:shop", "sync:"} {
		for _, manager := range []string{"", "autoscaler", api.SyncManager("shop-b")} {
			_, err := w.apply(ApplyOptions{Set: set, FieldManager: FieldManager{Manager: manager}}, web)
			if err == nil || !strings.Contains(err.Error(), "is that of a sync") {
				t.Errorf("%s by %q: %v", set, manager, err)
			}
		}
	}
	if _, err := w.apply(ApplyOptions{Set: "synced"}, web); err != nil {
		t.Errorf("another set: %v", err)
	}
}

// TestASyncAndAScale: a sync that declares another count than a person has set says what lets either count stand.
func TestASyncAndAScale(t *testing.T) {
	w := newWorld(t)
	web := func(count string) api.Object {
		return api.Object{Kind: api.KindDeployment, Scope: "git", Name: "web",
			Spec: json.RawMessage(`{"image":"a","replicas":` + count + `}`)}
	}
	w.mustApply(web("5"))
	opts := ApplyOptions{Set: "sync:shop/uid", FieldManager: FieldManager{Manager: api.SyncManager("shop")}}
	_, err := w.apply(opts, web("3"))
	if refused := wantReason(t, err, FieldOwned); refused.Next !=
		"to let the sync's 3 stand: tend scale git/web 3; to keep 5: take replicas out of the source" {
		t.Errorf("the next step of a sync: %s", refused.Next)
	}
	_, err = w.apply(ApplyOptions{FieldManager: FieldManager{Manager: "ci"}}, web("3"))
	if refused := wantReason(t, err, FieldOwned); strings.Contains(refused.Next, "tend scale") {
		t.Errorf("the next step of a manager that may force: %s", refused.Next)
	}
}

// TestAnotherManagerPrunesOnlyWhatItCreated: what existed before, and what a user applied since, is not of its set.
// Labels follow the source for what is.
func TestAnotherManagerPrunesOnlyWhatItCreated(t *testing.T) {
	w := newWorld(t)
	opts := ApplyOptions{Set: "sync:shop/uid", Prune: true,
		FieldManager: FieldManager{Manager: api.SyncManager("shop")}}
	made := func(name string) api.Object {
		return api.Object{Kind: api.KindDeployment, Scope: "shop", Name: name, Spec: json.RawMessage(`{"image":"a"}`)}
	}
	labelled := made("labelled")
	labelled.Metadata.Labels = map[string]string{"v": "1"}
	w.mustApply(made("before"))
	if _, err := w.apply(opts, made("before"), made("own"), made("since"), labelled); err != nil {
		t.Fatal(err)
	}
	if _, err := w.apply(ApplyOptions{Set: "laptop"}, made("since")); err != nil {
		t.Fatal(err)
	}
	labelled.Metadata.Labels = map[string]string{"v": "2"}
	result, err := w.apply(opts, labelled)
	if err != nil || fmt.Sprint(result.Pruned) != "[deployment/shop/own]" {
		t.Errorf("pruned %v, %v", result.Pruned, err)
	}
	if got := w.object(labelled.Ref()).Metadata.Labels["v"]; got != "2" {
		t.Errorf("label %q of what it created", got)
	}
	for name, valid := range map[string]bool{"sync:shop": true, "autoscaler": true, "sync:": false, ":shop": false,
		"sync:a:b": false, "Sync:a": false} {
		if err := (FieldManager{Manager: name}).check(); (err == nil) != valid {
			t.Errorf("manager %q: %v", name, err)
		}
	}
}

// TestTheServersFolderFindsWhatItCreated: after the server ran without its folder, so that its sync is another object;
// also what an earlier version of Tend created, which named the set after the object. A sync of another name doesn't.
func TestTheServersFolderFindsWhatItCreated(t *testing.T) {
	for name, want := range map[string]string{api.ServerSync: "[deployment/shop/earlier deployment/shop/gone]",
		"shop": "[]"} {
		w := newWorld(t)
		object := api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: name, Spec: json.RawMessage(`{"dir":"/a"}`)}
		declare := func() ApplyOptions {
			w.mustApply(object)
			return ApplyOptions{Set: api.SyncSet(*w.object(object.Ref())), Prune: true,
				FieldManager: FieldManager{Manager: api.SyncManager(name)}}
		}
		opts := declare()
		made := []api.Object{deployment("shop", "kept", `{"image":"a"}`), deployment("shop", "gone", `{"image":"a"}`)}
		if _, err := w.apply(opts, made...); err != nil {
			t.Fatal(err)
		}
		opts.Set = "sync:" + name + "/uid-of-before"
		if _, err := w.apply(opts, deployment("shop", "earlier", `{"image":"a"}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.service.Delete(t.Context(), TargetOf(object.Ref()), ""); err != nil {
			t.Fatal(err)
		}
		result, err := w.apply(declare(), made[0])
		if err != nil || fmt.Sprint(result.Pruned) != want {
			t.Errorf("%s pruned %v, %v, want %s", name, result.Pruned, err, want)
		}
	}
}

// TestDeleteOfASyncPrunesWhatItCreated: in the same commit, and nothing else.
func TestDeleteOfASyncPrunesWhatItCreated(t *testing.T) {
	for _, prune := range []bool{false, true} {
		w := newWorld(t)
		w.mustApply(syncObject(`{"dir":"/a"}`))
		stored := w.object(syncObject("").Ref())
		one := api.Object{Kind: api.KindDeployment, Scope: "shop", Name: "own", Spec: json.RawMessage(`{"image":"a"}`)}
		other := one
		other.Name = "other"
		w.mustApply(other)
		if _, err := w.apply(ApplyOptions{Set: api.SyncSet(*stored),
			FieldManager: FieldManager{Manager: api.SyncManager("shop")}}, one, other); err != nil {
			t.Fatal(err)
		}
		before := w.commits.Load()
		result, err := w.service.DeleteWith(t.Context(), TargetOf(stored.Ref()), DeleteOptions{Prune: prune})
		if err != nil || w.commits.Load() != before+1 {
			t.Fatalf("%v, %d commits", err, w.commits.Load()-before)
		}
		if going := w.object(one.Ref()).Metadata.Deleting(); going != prune || (len(result.Pruned) == 1) != prune {
			t.Errorf("prune %v: deleting %v, pruned %v", prune, going, result.Pruned)
		}
		if w.object(other.Ref()).Metadata.Deleting() {
			t.Error("what a user applied is deleted")
		}
	}
}

// TestAnApplyInFlightEndsWithItsSync: the sync goes, or is declared otherwise, between an apply's decision and its
// commit. Nothing of the apply is stored then; where another commit was in between, it is.
func TestAnApplyInFlightEndsWithItsSync(t *testing.T) {
	remove := func(t *testing.T, s *Service) {
		if _, err := s.DeleteWith(t.Context(), TargetOf(syncObject("").Ref()), DeleteOptions{Prune: true}); err != nil {
			t.Fatal(err)
		}
	}
	declare := func(t *testing.T, s *Service, spec string) {
		if _, err := s.Apply(t.Context(), []api.Object{syncObject(spec)}, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		meanwhile func(t *testing.T, other *Service)
		want      Reason
	}{
		"removed": {remove, NotFound},
		"made again": {func(t *testing.T,
			s *Service) {
			remove(t, s)
			declare(t, s, `{"dir":"/a","scopes":["shop"]}`)
		}, NotFound},
		"declared otherwise": {func(t *testing.T, s *Service) { declare(t, s, `{"dir":"/b","scopes":["shop"]}`) },
			Busy},
		"polled at once": {func(t *testing.T, s *Service) {
			if _, err := ask(t, s, "poll", Target{Name: "shop"}, ""); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(syncObject(`{"dir":"/a","scopes":["shop"]}`))
			sync := w.object(syncObject("").Ref())
			opts := ApplyOptions{Set: api.SyncSet(*sync), Prune: true, Sync: sync,
				FieldManager: FieldManager{Manager: api.SyncManager("shop")}}
			if _, err := w.apply(opts, deployment("shop", "a", `{"image":"a"}`)); err != nil {
				t.Fatal(err)
			}
			other := New(w.service.opts)
			w.before = func() { tc.meanwhile(t, other) }
			_, err := w.apply(opts, deployment("shop", "a", `{"image":"b"}`), deployment("shop", "b", `{"image":"b"}`))
			if tc.want == "" && err != nil {
				t.Fatal(err)
			} else if tc.want != "" {
				wantReason(t, err, tc.want)
			}
			if stored := w.object(ref("shop", "b")) != nil; stored != (tc.want == "") {
				t.Errorf("the apply stored something: %v", stored)
			}
			if a := w.object(ref("shop", "a")); a.Metadata.Deleting() != (tc.want == NotFound) ||
				strings.Contains(string(a.Spec), `"b"`) != (tc.want == "") {
				t.Errorf("what was applied before is %s, deleting %v", a.Spec, a.Metadata.Deleting())
			}
		})
	}
}

// TestSyncNow: a nonce, and no new generation.
func TestSyncNow(t *testing.T) {
	w := newWorld(t)
	w.mustApply(syncObject(`{"dir":"/a"}`))
	for _, nonce := range []string{"1", "2"} {
		result, err := w.ask("poll", Target{Name: "shop"}, "")
		stored := w.object(syncObject("").Ref())
		if err != nil || stored.Metadata.Stamps[api.StampSync] != nonce ||
			stored.Metadata.Generation != 1 || !result.Changed {
			t.Errorf("%+v, %v: %+v", result, err, stored.Metadata)
		}
	}
	if _, err := w.ask("poll", Target{Name: "none"}, ""); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("of none: %v", err)
	}
}

// TestTheApplyOfASyncRecordsItsChanges: its own commit says what it created, configured and pruned, as much of it as a
// status shows. An apply that changes nothing leaves the record, and those of people make none.
func TestTheApplyOfASyncRecordsItsChanges(t *testing.T) {
	w := newRegistryWorld(t)
	w.mustApply(syncObject(`{"dir":"/srv/shop","scopes":["shop"],"prune":true}`))
	sync := w.object(syncObject("").Ref())
	named := func(n int) (out []api.Object) {
		for i := range n {
			out = append(out, api.Object{Kind: api.KindDeployment, Scope: "shop", Name: fmt.Sprint("web-", i),
				Spec: json.RawMessage(`{"image":"a"}`)})
		}
		return out
	}
	applied := func(revision string, objects []api.Object) string {
		t.Helper()
		result, err := w.apply(ApplyOptions{Prune: true, Set: api.SyncSet(*sync), Sync: sync, SyncRevision: revision,
			FieldManager: FieldManager{Manager: api.SyncManager("shop")}}, objects...)
		if err != nil {
			t.Fatal(err)
		}
		done := w.snapshot().Synced("shop")
		if result.Synced != nil && (done.Modified != result.Revision || done.Value.UID != sync.Metadata.UID) {
			t.Errorf("%s: recorded at %d, committed at %d: %+v", revision, done.Modified, result.Revision, done.Value)
		}
		count := map[string]int{}
		for _, change := range done.Value.Changes {
			count[change.Action]++
		}
		return fmt.Sprint(done.Value.Revision, " ", count, "+", done.Value.More)
	}
	for _, step := range []struct {
		objects  int
		revision string
		want     string
	}{
		{api.MaxSyncChanges + 2, "r1", "r1 map[created:50]+2"},
		{api.MaxSyncChanges + 2, "r2", "r1 map[created:50]+2"},
		{api.MaxSyncChanges, "r3", "r3 map[pruned:2]+0"},
	} {
		if got := applied(step.revision, named(step.objects)); got != step.want {
			t.Errorf("%s: recorded %s, want %s", step.revision, got, step.want)
		}
	}
	w.mustApply(api.Object{Kind: api.KindDeployment, Scope: "x", Name: "y", Spec: json.RawMessage(`{"image":"a"}`)})
	if got := w.snapshot().Synced("shop").Value.Revision; got != "r3" {
		t.Errorf("after a person's apply: %s", got)
	}
}
