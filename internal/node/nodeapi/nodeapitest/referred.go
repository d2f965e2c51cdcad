package nodeapitest

import (
	"maps"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// referred: a node learns of files and built images whether anything in the cluster refers to them, on whatever node,
// and of uids whether they are those of objects.
func referred(t *testing.T, w *World, c nodeapi.Control) {
	w.Deploy("a", Here)
	theirs := w.Deploy("b", There)
	build, tree := "abc", "sha256:"+strings.Repeat("d", 64)
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web), api.ImageRequest{
		Owner: web, OwnerUID: "u1", Image: "prod-web:" + build, Build: &api.ImageBuild{ID: build, Tree: tree},
	}))
	object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: []byte(`{"image":"a"}`),
		Metadata: api.Metadata{UID: "uid-1"}}
	w.Commit(records.NewTxn("test").Put(records.ObjectKey(web), object))
	names := []string{"uid-1", "uid-2", "sha256:a", "sha256:b", "sha256:none", "prod-web:" + build, "prod-web:old", ""}
	check := func(want map[string]bool) {
		t.Helper()
		got, err := c.Referred(t.Context(), names)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v %v, want %v", got, err, want)
		}
	}
	want := map[string]bool{"uid-1": true, "uid-2": false, "sha256:a": true, "sha256:b": true, "sha256:none": false,
		"prod-web:" + build: true, "prod-web:old": false, "": false}
	check(want)
	w.Commit(records.NewTxn("test").Delete(records.ReleaseKey(theirs.Owner(),
		theirs.Release)).Delete(records.ImageKey(web)).Delete(records.ObjectKey(web)))
	want["sha256:b"], want["prod-web:"+build], want["uid-1"] = false, false, false
	check(want)
	if got, err := c.Referred(t.Context(), nil); len(got) != 0 || err != nil {
		t.Errorf("nothing was asked for: %v %v", got, err)
	}
}
