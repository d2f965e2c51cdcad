package server_test

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestApproveWhatWasSeen: a client says which operation was seen, and another one is a conflict that names both
// generations.
func TestApproveWhatWasSeen(t *testing.T) {
	w := newWorld(t)
	operation := api.Object{Kind: api.KindOperation, Scope: "org", Name: "backup",
		Spec: []byte(`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero"}`)}
	instance := api.Object{Kind: api.KindApplicationInstance, Scope: "org", Name: "cloud", Spec: []byte(`{"cluster":"east","appRef":{"catalogId":"x"},
		"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.0"},"release":{"name":"x"},"values":{"source":"inline","inline":{}}}`)}
	east := api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte(`{}`)}
	objects := []api.Object{east, instance, operation}
	if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: objects}); err != nil {
		t.Fatal(err)
	}
	stored, err := w.client.Object(t.Context(), operation.Ref())
	if err != nil {
		t.Fatal(err)
	}
	target := client.Target{Kind: operation.Kind, Scope: operation.Scope, Name: operation.Name}
	uid := stored.Metadata.UID
	for want, seen := range map[string]client.ApproveOptions{
		"has generation 1, and was shown as of generation 7": {UID: uid, Generation: 7}, "declared again": {UID: "another", Generation: 1},
	} {
		_, err := w.client.Approve(t.Context(), target, seen)
		if !client.IsConflict(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want a conflict: %s", err, want)
		}
	}
	_, err = w.client.Approve(t.Context(), target, client.ApproveOptions{})
	if err == nil || !strings.Contains(err.Error(), "needs the uid and the generation") {
		t.Errorf("without what was seen: %v", err)
	}
}
