package nodeapitest

import (
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// referred: a node learns of files and pulled images whether an object that concerns it refers to them; of what it may
// have the only copy of (built images), and of uids, whether anything does. That it knows the digest of another node's
// file gives it nothing.
func referred(t *testing.T, w *World, c nodeapi.Control) {
	mine := w.Deploy("a", Here)
	w.Deploy("b", There)
	former := w.Deploy("c", Here)
	build, tree := "abc", "sha256:"+strings.Repeat("d", 64)
	uid := func(uid string) api.Object {
		return api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: []byte(`{"image":"a"}`),
			Metadata: api.Metadata{UID: uid}}
	}
	again := uid("uid-3")
	again.Name = former.Name
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web), api.ImageRequest{
		Owner: web, OwnerUID: "uid-1", Image: "prod-web:" + build, Build: &api.ImageBuild{ID: build, Tree: tree},
	}).Put(records.ObjectKey(web), uid("uid-1")).Put(records.ObjectKey(again.Ref()), again))
	names := []string{"uid-1", "uid-2", "sha256:a", "sha256:b", "sha256:c", "sha256:none", "prod-web:" + build, "prod-web:old",
		"a.example/app:1", "b.example/app:1", "a", ""}
	check := func(want ...string) {
		t.Helper()
		got, err := c.Referred(t.Context(), names)
		if err != nil || len(got) != len(names) {
			t.Errorf("%v %v", got, err)
		}
		for name, is := range got {
			if is != slices.Contains(want, name) {
				t.Errorf("%q is referred to: %v", name, is)
			}
		}
	}
	check("uid-1", "sha256:a", "prod-web:"+build, "a.example/app:1", "a") // it is asked for the image
	answer := api.ImageStatus{Owner: web, OwnerUID: "uid-1", Node: There, Image: "prod-web:" + build,
		State: api.ImagePresent, ImageID: "id"}
	w.Commit(records.NewTxn("test").Put(records.AliveKey(There), There).Put(records.ImageStatusKey(There, web), answer))
	check("uid-1", "sha256:a", "prod-web:"+build, "a.example/app:1") // another node has answered
	answer.Node = Here
	w.Commit(records.NewTxn("test").Put(records.ImageStatusKey(Here, web), answer))
	check("uid-1", "sha256:a", "prod-web:"+build, "a.example/app:1", "a") // it has the image of the object
	w.Commit(records.NewTxn("test").Delete(records.ReleaseKey(mine.Owner(),
		mine.Release)).Delete(records.ImageKey(web)).Delete(records.ObjectKey(web)))
	check()
	if got, err := c.Referred(t.Context(), nil); len(got) != 0 || err != nil {
		t.Errorf("nothing was asked for: %v %v", got, err)
	}
}
