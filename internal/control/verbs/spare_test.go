package verbs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// syncs is a world with syncs that prune, and applies what their sources have.
type syncs struct{ *world }

func newSyncs(t *testing.T) syncs {
	w := newWorld(t, func(o *Options) {
		o.Validate = func(object api.Object) []api.FieldError {
			if object.Kind == api.KindDeployment && !strings.Contains(string(object.Spec), `"image"`) {
				return []api.FieldError{{Object: object.Ref().String(), Field: "image", Detail: "is required"}}
			}
			return nil
		}
	})
	for _, name := range []string{"a", "b"} {
		w.mustApply(api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: name,
			Spec: json.RawMessage(`{"dir":"/a","trusted":true}`)})
	}
	return syncs{w}
}

func (w syncs) poll(name string, prune bool, source ...api.Object) api.ApplyResult {
	w.t.Helper()
	result, err := w.tryPoll(name, prune, source...)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w syncs) tryPoll(name string, prune bool, source ...api.Object) (api.ApplyResult, error) {
	sync := w.object(api.Ref{Kind: api.KindSync, Scope: api.Unscoped, Name: name})
	return w.apply(ApplyOptions{Set: api.SyncSet(*sync), Prune: prune, Sync: sync,
		FieldManager: FieldManager{Manager: api.SyncManager(name)}}, source...)
}

func (w syncs) remove(name string, prune bool) {
	w.t.Helper()
	target := Target{Kind: api.KindSync, Scope: api.Unscoped, Name: name}
	if _, err := w.service.DeleteWith(w.t.Context(), target, DeleteOptions{Prune: prune}); err != nil {
		w.t.Fatal(err)
	}
}

// web is there, not being deleted, with this spec.
func (w syncs) wantWeb(spec string) {
	w.t.Helper()
	object := w.object(ref("shop", "web"))
	if spec == "" {
		if object != nil && !object.Metadata.Deleting() {
			w.t.Errorf("it is still there: %s", object.Spec)
		}
		return
	}
	if object == nil || object.Metadata.Deleting() || string(object.Spec) != spec {
		w.t.Errorf("it is %+v, want %s", object, spec)
	}
}

var (
	web   = deployment("shop", "web", `{"image":"web:1"}`)
	other = deployment("shop", "other", `{"image":"other:1"}`)
)

// What one source drops and another still declares stays, without the fields of the first; the other one prunes it
// later.
func TestPruneSparesWhatOthersDeclare(t *testing.T) {
	both := deployment("shop", "web", `{"image":"web:1","env":{"A":"1"}}`)
	for name, tc := range map[string]struct {
		reason string
		shared func(syncs)
		drop   func(syncs)
		want   string
	}{
		"a sync": {"it moved to another repository", func(w syncs) { w.poll("b", true, web, other) },
			func(w syncs) { w.poll("a", true, other) }, `{"image":"web:1"}`},
		"a person": {"who applied it over the API", func(w syncs) { w.mustApply(web) },
			func(w syncs) { w.poll("a", true, other) }, `{"image":"web:1"}`},
		"nobody": {"it is pruned", func(w syncs) {}, func(w syncs) { w.poll("a", true, other) }, ""},
		"a field": {"the other one only adds to it",
			func(w syncs) { w.poll("b", true, deployment("shop", "web", `{"replicas":2}`), other) },
			func(w syncs) { w.poll("a", true, other) }, ""},
		"a sync that goes": {"its removal prunes", func(w syncs) { w.poll("b", true, web, other) },
			func(w syncs) { w.remove("a", true) }, `{"image":"web:1"}`},
		"a sync that is gone": {"it declares nothing",
			func(w syncs) { w.poll("b", true, web, other); w.remove("b", false) },
			func(w syncs) { w.poll("a", true, other) }, ""},
		"the removal of nobody": {"its removal prunes", func(w syncs) {}, func(w syncs) { w.remove("a", true) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSyncs(t)
			w.poll("a", true, both, other)
			tc.shared(w)
			tc.drop(w)
			w.wantWeb(tc.want)
			if tc.want == "" {
				return
			}
			again := w.poll("b", true, other)
			if last := w.object(ref("shop", "web")); name == "a person" != (last != nil && !last.Metadata.Deleting()) {
				t.Errorf("%s: once the other one drops it too, it is %+v, pruned %v", tc.reason, last, again.Pruned)
			}
		})
	}
}

// A person's prune spares what a sync declares.
func TestPruneOfAPersonSparesWhatASyncDeclares(t *testing.T) {
	w := newSyncs(t)
	if _, err := w.apply(ApplyOptions{Set: "laptop"}, web, other); err != nil {
		t.Fatal(err)
	}
	w.poll("a", true, web)
	if _, err := w.apply(ApplyOptions{Set: "laptop", Prune: true}, other); err != nil {
		t.Fatal(err)
	}
	w.wantWeb(`{"image":"web:1"}`)
}

// Nobody is refused on behalf of an owner that gave the object up, or is gone.
func TestAnOwnerThatIsGoneRefusesNothing(t *testing.T) {
	changed := deployment("shop", "web", `{"image":"web:2"}`)
	for name, tc := range map[string]struct {
		reason string
		gone   func(syncs)
	}{
		"dropped": {"its source no longer has it, and it doesn't prune", func(w syncs) { w.poll("a", false, other) }},
		"removed": {"what it created stays", func(w syncs) { w.remove("a", false) }},
		"removed, and again": {"a sync of its name begins from nothing", func(w syncs) {
			w.remove("a", false)
			w.mustApply(api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: "a",
				Spec: json.RawMessage(`{"dir":"/b","trusted":true}`)})
			w.poll("a", false, other)
		}},
	} {
		w := newSyncs(t)
		w.poll("a", false, web, other)
		if _, err := w.apply(ApplyOptions{}, changed); err == nil {
			t.Fatal("while it declares the object, a person who applies another value is refused")
		}
		tc.gone(w)
		w.wantWeb(`{"image":"web:1"}`)
		if strings.Contains(string(w.object(ref("shop", "web")).Metadata.Fields), `"manager":"sync:a"`) {
			t.Errorf("%s: %s: it owns %s", name, tc.reason, w.object(ref("shop", "web")).Metadata.Fields)
		}
		if _, err := w.tryPoll("b", true, changed); err != nil {
			t.Errorf("%s: %s: another sync: %v", name, tc.reason, err)
		}
		if _, err := w.apply(ApplyOptions{}, changed); err != nil {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
		w.wantWeb(`{"image":"web:2"}`)
	}
}

// An earlier version left the ownership of syncs behind that are gone.
func TestAnOwnerThatAnEarlierVersionLeft(t *testing.T) {
	w := newSyncs(t)
	w.poll("a", false, web)
	object := *w.object(ref("shop", "web"))
	object.Metadata.Fields = json.RawMessage(strings.ReplaceAll(string(object.Metadata.Fields), "sync:a", "sync:gone"))
	w.put("/desired/deployment/shop/web", object)
	if _, err := w.apply(ApplyOptions{}, deployment("shop", "web", `{"image":"web:2"}`)); err != nil {
		t.Error(err)
	}
}

// A source that drops an object and takes it back has it as before: what it leaves out then goes.
func TestASourceTakesBackWhatItDropped(t *testing.T) {
	w := newSyncs(t)
	full := deployment("shop", "web", `{"image":"web:1","env":{"A":"1"}}`)
	w.poll("a", false, full, other)
	w.poll("a", false, other)
	w.wantWeb(`{"image":"web:1","env":{"A":"1"}}`)
	w.poll("a", false, full, other)
	w.poll("a", false, web, other)
	w.wantWeb(`{"image":"web:1"}`)
	if result := w.poll("a", true, other); fmt.Sprint(result.Pruned) != "[deployment/shop/web]" {
		t.Errorf("pruned %v", result.Pruned)
	}
}
