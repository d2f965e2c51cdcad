package records_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestWhatRefersToABuild: the image for an object's present source, the requested image, and the images of releases;
// their sources are kept as well.
func TestWhatRefersToABuild(t *testing.T) {
	job := api.Ref{Kind: api.KindJob, Scope: "prod", Name: "job"}
	tree := func(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }
	build := func(letter string) *api.ImageBuild { return api.NewImageBuild(tree(letter), api.Build{}) }
	s := recordsOf(t, map[string]any{
		records.ObjectKey(web): api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name,
			Spec:     json.RawMessage(`{"build":{}}`),
			Metadata: api.Metadata{Stamps: map[string]string{api.StampBuild: tree("a")}}},
		records.ImageKey(web): api.ImageRequest{Owner: web, Image: build("b").Image(web), Build: build("b")},
		records.ImageKey(job): api.ImageRequest{Owner: job, Image: "busybox"},
		records.ReleaseKey(web, "v1"): api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope,
			Name: web.Name, Build: build("c")},
		records.ReleaseKey(job, "v1"): api.Release{ID: "v1", Kind: job.Kind, Scope: job.Scope,
			Name: job.Name, Image: "busybox"},
	})
	want := map[string]bool{"prod-web:aaaaaaaaaaaa": true, "prod-web:bbbbbbbbbbbb": true,
		"prod-web:cccccccccccc": true, "busybox": true}
	if diff := cmp.Diff(want, s.ImagesUsedBy(all)); diff != "" {
		t.Error(diff)
	}
	for _, letter := range []string{"a", "c"} {
		if !s.ReferredFiles()[tree(letter)] {
			t.Errorf("the source %s is not kept", letter)
		}
	}
}

// TestWhatRefersToAnImage: a pulled image is in use if an object or its init containers name it, if it was requested,
// and if it is the reference, the id or the digest of a release.
func TestWhatRefersToAnImage(t *testing.T) {
	gone := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "gone"}
	s := recordsOf(t, map[string]any{
		records.ObjectKey(web): api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name,
			Spec: json.RawMessage(`{"image":"web:2","inits":[{"name":"i","image":"init:2"}]}`)},
		records.ImageKey(web): api.ImageRequest{Owner: web, Image: "web:3"},
		records.ReleaseKey(gone, "v1"): api.Release{ID: "v1", Kind: gone.Kind, Scope: gone.Scope, Name: gone.Name,
			Image: "web:1", ImageID: "sha256:id",
			ImageDigest: "example.org/web@sha256:digest",
			Spec:        json.RawMessage(`{"image":"web:1","inits":[{"name":"i","image":"init:1"}]}`)},
	})
	want := map[string]bool{"web:1": true, "web:2": true, "web:3": true, "init:1": true, "init:2": true, "sha256:id": true,
		"sha256:digest": true}
	if diff := cmp.Diff(want, s.ImagesUsedBy(all)); diff != "" {
		t.Error(diff)
	}
}

func all(api.Ref) bool { return true }

// TestWhatOthersReferTo: of what an object refers to that the asker may not see, the asker is given what only nodes
// have: its builds, and the ids of images without a registry.
func TestWhatOthersReferTo(t *testing.T) {
	build := api.NewImageBuild("sha256:"+strings.Repeat("c", 64), api.Build{})
	release := api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Image: "web:1", ImageID: "sha256:pulled",
		ImageDigest: "example.org/web@sha256:digest", AssetDigests: map[string]string{"prod.conf.a": "sha256:file"},
		Spec: json.RawMessage(`{"image":"web:1","inits":[{"name":"i","image":"init:1"}]}`)}
	built, loaded := release, release
	built.ID, built.Build, loaded.ID, loaded.ImageDigest, loaded.ImageID = "v2", build, "v3", "", "sha256:loaded"
	s := recordsOf(t, map[string]any{
		records.ObjectKey(web): api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name,
			Spec: json.RawMessage(`{"image":"web:2","inits":[{"name":"i","image":"init:2"}]}`)},
		records.ImageKey(web):         api.ImageRequest{Owner: web, Image: "web:3"},
		records.ReleaseKey(web, "v1"): release, records.ReleaseKey(web, "v2"): built, records.ReleaseKey(web, "v3"): loaded,
	})
	none := func(api.Ref) bool { return false }
	if diff := cmp.Diff(map[string]bool{"prod-web:cccccccccccc": true, "sha256:loaded": true}, s.ImagesUsedBy(none)); diff != "" {
		t.Error(diff)
	}
	if got := s.FilesUsedBy(none); len(got) != 0 {
		t.Errorf("files: %v", got)
	}
}

func recordsOf(t *testing.T, values map[string]any) records.Snapshot {
	t.Helper()
	txn := records.NewTxn("test")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		txn.Put(key, values[key])
	}
	return newFixture(t).commit(txn)
}

func stamped(ref api.Ref, stamp string, digests map[string]string) api.Object {
	text, _ := json.Marshal(digests)
	return api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
		Metadata: api.Metadata{Stamps: map[string]string{stamp: string(text)}}}
}

func TestReferredFiles(t *testing.T) {
	conf := api.Ref{Kind: api.KindAsset, Scope: "prod", Name: "conf"}
	migrate := api.Ref{Kind: api.KindJob, Scope: "prod", Name: "migrate"}
	s := recordsOf(t, map[string]any{
		records.ObjectKey(conf): stamped(conf, api.StampFiles,
			map[string]string{"nginx": "of the asset", "other": "of its other file"}),
		records.ObjectKey(web): stamped(web, api.StampAssets, map[string]string{"prod.gone.x": "of a consumer"}),
		records.ReleaseKey(web, "v1"): api.Release{ID: "v1",
			AssetDigests: map[string]string{"prod.conf.nginx": "of an older release"}},
		records.ReleaseKey(migrate, "v1"): api.Release{ID: "v1",
			AssetDigests: map[string]string{"prod.conf.nginx": "of a job's release"}},
	})
	want := []string{"of a consumer", "of a job's release", "of an older release", "of its other file", "of the asset"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.ReferredFiles()))); diff != "" {
		t.Error(diff)
	}
}
