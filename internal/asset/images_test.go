package asset

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// TestWhatRefersToABuild: what an object is to be made from, what was asked for, and what a release was made with;
// their sources are kept as well.
func TestWhatRefersToABuild(t *testing.T) {
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	job := api.Ref{Kind: api.KindJob, Scope: "prod", Name: "job"}
	tree := func(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }
	build := func(letter string) *api.ImageBuild { return api.NewImageBuild(tree(letter), api.Build{}) }
	s := pictureOf(t, map[string]any{
		layout.ObjectKey(web): api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: json.RawMessage(`{"build":{}}`),
			Metadata: api.Metadata{Stamps: map[string]string{api.StampBuild: tree("a")}}},
		layout.ImageKey(web):         api.ImageRequest{Owner: web, Image: build("b").Image(web), Build: build("b")},
		layout.ImageKey(job):         api.ImageRequest{Owner: job, Image: "busybox"},
		layout.ReleaseKey(web, "v1"): api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Build: build("c")},
		layout.ReleaseKey(job, "v1"): api.Release{ID: "v1", Kind: job.Kind, Scope: job.Scope, Name: job.Name, Image: "busybox"},
	})
	want := map[string]bool{"prod-web:aaaaaaaaaaaa": true, "prod-web:bbbbbbbbbbbb": true, "prod-web:cccccccccccc": true}
	if diff := cmp.Diff(want, Images(s)); diff != "" {
		t.Error(diff)
	}
	for _, letter := range []string{"a", "c"} {
		if !Referenced(s)[tree(letter)] {
			t.Errorf("the source %s is not kept", letter)
		}
	}
}
