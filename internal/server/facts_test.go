package server_test

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/store/records"
)

// TestAKeptReleaseSaysWhatItChanged: also once the one before it is pruned.
func TestAKeptReleaseSaysWhatItChanged(t *testing.T) {
	w := newWorld(t)
	owner := w.apply("web", `{"image":"web:2"}`).Objects[0].Ref
	w.put(records.ReleaseKey(owner, "v7"), api.Release{
		ID: "v7", Number: 7, Kind: owner.Kind, Scope: owner.Scope, Name: owner.Name, Spec: []byte(`{"image":"web:2"}`),
		Changed: []string{"image"},
	})
	kept, err := w.client.Releases(t.Context(), client.TargetOf(owner))
	if err != nil {
		t.Fatal(err)
	}
	if len(kept.Items) != 1 || !slices.Equal(kept.Items[0].Changed, []string{"image"}) {
		t.Errorf("%+v", kept.Items)
	}
}
