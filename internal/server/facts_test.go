package server_test

import (
	"maps"
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

// TestAMachineThatOnlyJoinedIsListed: it has a certificate, also if it never says what it is.
func TestAMachineThatOnlyJoinedIsListed(t *testing.T) {
	w := newWorld(t)
	for name, member := range map[string]records.Member{
		"raw": {UID: "m1", Token: "t1", JoinedAt: started}, "gone": {Removed: true}, "of-a-server": {Server: "s1"},
		"honest": {UID: "m2", JoinedAt: started},
	} {
		w.put(records.MemberKey(name), member)
	}
	w.put(records.NodeKey("honest"), api.NodeStatus{ID: "honest", Ready: true})
	listed, err := w.client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, node := range listed.Items {
		got[node.ID] = node.Reason
		if node.ID == "raw" && (node.Alive || node.Ready || node.Message == "" || !node.Since.Equal(started)) {
			t.Errorf("it is %+v", node)
		}
	}
	if want := map[string]string{"raw": api.ReasonNeverReported, "honest": ""}; !maps.Equal(got, want) {
		t.Errorf("listed are %v, want %v", got, want)
	}
}
