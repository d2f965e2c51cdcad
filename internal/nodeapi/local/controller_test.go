package local

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// TestTheCallbackURLIsOurs: a manifest that names another controller, of an older system for example, doesn't keep its
// containers from calling this server.
func TestTheCallbackURLIsOurs(t *testing.T) {
	store := memory.New()
	defer store.Close()
	task := api.Task{ID: "t1", Kind: api.KindStatefulSet, Scope: "prod", Name: "cache", Slot: "0", Node: "n1", Release: "v1"}
	sealed, err := json.Marshal(map[string]string{"VOODU_CONTROLLER_URL": "http://host.docker.internal:8686", "A": "1"})
	if err != nil {
		t.Fatal(err)
	}
	object := api.Object{Kind: task.Kind, Scope: task.Scope, Name: task.Name, Spec: json.RawMessage(`{"image":"kv:1"}`)}
	release := api.Release{ID: "v1", Kind: task.Kind, Scope: task.Scope, Name: task.Name, Spec: object.Spec, Env: sealed}
	txn := layout.NewTxn("test").Put(layout.ObjectKey(task.Owner()), object).Put(layout.ReleaseKey(task.Owner(), "v1"), release).CreateTask(task)
	if _, err := txn.Commit(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	v := view.New(store, view.Options{Decode: layout.Decode, Indexes: layout.Indexes})
	c := New(Options{Store: store, View: v, Keys: plain{}, Callback: func(api.Object) string { return "http://ours/t/1" }}).Node("n1")
	go func() { _ = v.Run(t.Context()) }()
	<-v.Synced()
	got, err := c.Release(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"VOODU_CONTROLLER_URL": "http://ours/t/1", "TEND_CONTROLLER_URL": "http://ours/t/1", "A": "1"} {
		if got.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, got.Env[name], want)
		}
	}
}
