package nodeapitest

import (
	"maps"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/nodeapi"
	"tend.dev/tend/internal/records"
)

// referred: a node learns of files and built images whether anything in the cluster refers to them, on whatever node.
func referred(t *testing.T, w *World, c nodeapi.Control) {
	w.Deploy("a", Here)
	theirs := w.Deploy("b", There)
	build, tree := "abc", "sha256:"+strings.Repeat("d", 64)
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web), api.ImageRequest{
		Owner: web, OwnerUID: "u1", Image: "prod-web:" + build, Build: &api.ImageBuild{ID: build, Tree: tree},
	}))
	names := []string{"sha256:a", "sha256:b", "sha256:none", "prod-web:" + build, "prod-web:old", ""}
	check := func(want map[string]bool) {
		t.Helper()
		got, err := c.Referred(t.Context(), names)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v %v, want %v", got, err, want)
		}
	}
	want := map[string]bool{"sha256:a": true, "sha256:b": true, "sha256:none": false, "prod-web:" + build: true, "prod-web:old": false, "": false}
	check(want)
	w.Commit(records.NewTxn("test").Delete(records.ReleaseKey(theirs.Owner(), theirs.Release)).Delete(records.ImageKey(web)))
	want["sha256:b"], want["prod-web:"+build] = false, false
	check(want)
	if got, err := c.Referred(t.Context(), nil); len(got) != 0 || err != nil {
		t.Errorf("nothing was asked for: %v %v", got, err)
	}
}
