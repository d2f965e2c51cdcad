package daemon

import (
	"context"
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// TestAKindWithoutAHandlerIsNothing: an object of a kind that this server doesn't know, as a newer one may have left
// it, is not touched and blocks nothing.
func TestAKindWithoutAHandlerIsNothing(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	unknown := api.Object{Kind: "starship", Scope: "prod", Name: "web", Spec: json.RawMessage(`{"warp":9}`)}
	key := records.ObjectKey(unknown.Ref())
	if _, err := records.NewTxn("test").Put(key, unknown).Commit(t.Context(), m.store); err != nil {
		t.Fatal(err)
	}
	before, err := m.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, nil)))
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	after, err := m.store.Get(context.Background(), key)
	if err != nil || after.Modified != before.Modified {
		t.Errorf("it was written: %d, then %d, %v", before.Modified, after.Modified, err)
	}
	for _, prefix := range []string{records.StatusPrefix + "starship/", "/releases/starship/", "/slots/starship/",
		"/images/starship/"} {
		if page, err := m.store.List(context.Background(), prefix, store.ListOptions{}); err != nil || len(page.Entries) > 0 {
			t.Errorf("%s holds %v, %v", prefix, page.Entries, err)
		}
	}
	if made := m.engine.Containers(); len(made) != 1 {
		t.Errorf("%d containers, want that of the deployment alone", len(made))
	}
}
