package verbs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestNobodyDeclaresWhatIsTends: a label that begins with tend. made a plugin of an ordinary deployment.
func TestNobodyDeclaresWhatIsTends(t *testing.T) {
	for name, by := range map[string]func(*world) ApplyOptions{
		"a user":         func(*world) ApplyOptions { return ApplyOptions{} },
		"a sync":         func(w *world) ApplyOptions { return w.asSync(plainSync) },
		"a trusted sync": func(w *world) ApplyOptions { return w.asSync(trustedSync) },
	} {
		for _, key := range []string{api.LabelMacro, "tend.dotted-name", "tend.x"} {
			w := newWorld(t)
			for _, object := range []api.Object{
				{Metadata: api.Metadata{Labels: map[string]string{"a": "b", key: "kv/shop/web"}}},
				{Metadata: api.Metadata{Annotations: map[string]string{key: "kv/shop/web"}}},
			} {
				object.Kind, object.Scope, object.Name, object.Spec = api.KindDeployment, "shop", "web",
					[]byte(`{"image":"a"}`)
				_, err := w.apply(by(w), object)
				wantReason(t, err, Invalid)
			}
		}
		w := newWorld(t)
		stamps := map[string]string{api.StampMacro: "kv/shop/web", api.StampDotted: "w.eb",
			api.StampCreator: "sync:shop",
			api.StampHost:    "x", api.StampConfined: "true"}
		object := deployment("shop", "web", `{"image":"a"}`)
		object.Metadata.Stamps = stamps
		if _, err := w.apply(by(w), object); err != nil {
			t.Fatal(err)
		}
		if stored := w.object(object.Ref()); stored.CallsBack() || stored.Dotted() != "" ||
			stored.Metadata.Stamps[api.StampHost] != "" {
			t.Errorf("%s declares stamps: %v", name, stored.Metadata.Stamps)
		}
	}
}

// TestWhatAPluginMade: only the plugin's own apply marks an object as made by the plugin. Its label follows, and a user
// can apply what `tend get` shows: then it is the user's.
func TestWhatAPluginMade(t *testing.T) {
	w := newWorld(t)
	object := deployment("prod", "main-bk", `{"image":"a"}`)
	object.Metadata.Labels = map[string]string{"team": "core"}
	made := map[api.Ref]Made{object.Ref(): {Macro: "kv/prod/main", Dotted: "main.bk"}}
	if _, err := w.apply(ApplyOptions{Made: made}, object); err != nil {
		t.Fatal(err)
	}
	stored := w.object(object.Ref())
	if !stored.CallsBack() || stored.MacroKind() != "kv" || stored.Dotted() != "main.bk" {
		t.Errorf("%+v", stored.Metadata)
	}
	if diff := cmp.Diff(map[string]string{"team": "core", api.LabelMacro: "kv/prod/main"},
		stored.Metadata.Labels); diff != "" {
		t.Error(diff)
	}
	if again, err := w.apply(ApplyOptions{Made: made}, object); err != nil || again.Changed() {
		t.Errorf("again: %+v, %v", again, err)
	}
	w.mustApply(*stored)
	after := w.object(object.Ref())
	if diff := cmp.Diff(map[string]string{"team": "core"}, after.Metadata.Labels); diff != "" || after.CallsBack() {
		t.Error(diff, after.Metadata.Stamps)
	}
}
