package verbs

import (
	"encoding/json"
	"slices"
	"testing"

	"tend.dev/tend/api"
)

func TestReleaseChanges(t *testing.T) {
	before := api.Release{Spec: json.RawMessage(`{"image":"web:1","env":{"A":"1"},"ports":["80"]}`),
		Image: "web:1", ImageID: "one",
		EnvHash: "h1", Env: []byte(`{"A":"1","KEY":"old","GONE":"x"}`),
		AssetDigests: map[string]string{"prod.conf.app": "1"}}
	for name, tc := range map[string]struct {
		reason string
		change func(*api.Release)
		want   []string
	}{
		"nothing": {"equal releases differ in nothing", func(*api.Release) {}, nil},
		"fields": {"in the manifest's words", func(r *api.Release) {
			r.Spec = json.RawMessage(`{"image":"web:2","env":{"A":"2"}}`)
			r.EnvHash, r.Env = "h2", []byte(`{"A":"2","KEY":"old","GONE":"x"}`)
		}, []string{"env.A", "image", "ports[0]"}},
		"config": {"values of buckets by their key", func(r *api.Release) {
			r.EnvHash, r.Env = "h2", []byte(`{"A":"1","KEY":"new","ADDED":""}`)
		}, []string{"config.ADDED", "config.GONE", "config.KEY"}},
		"sealed": {"an environment of another key is not guessed",
			func(r *api.Release) { r.EnvHash, r.Env = "h2", []byte(`?`) }, nil},
		"tag": {"the tag names another image now", func(r *api.Release) { r.ImageID = "two" },
			[]string{"image content"}},
		"asset": {"a file it mounts", func(r *api.Release) { r.AssetDigests = map[string]string{"prod.conf.app": "2"} },
			[]string{"asset.prod.conf.app"}},
		"unused": {"a file it mounts no longer", func(r *api.Release) { r.AssetDigests = nil },
			[]string{"asset.prod.conf.app"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Open = func(sealed []byte) ([]byte, error) { return sealed, nil } })
			after := before
			tc.change(&after)
			if got := w.service.ReleaseChanges(before, after); !slices.Equal(got, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestWhoChanged: every change that may lead to a release records who asked for it; a scale leads to none.
func TestWhoChanged(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Seal = func(plain []byte) ([]byte, error) { return plain, nil }
		o.Open = func(sealed []byte) ([]byte, error) { return sealed, nil }
	})
	web, target := ref("prod", "web"), Target{Name: "web"}
	want := func(verb, actor string) {
		t.Helper()
		if got := w.object(web).Metadata.Change; got == nil || *got != (api.Change{Verb: verb, Actor: actor}) {
			t.Errorf("recorded is %+v, want %s by %s", got, verb, actor)
		}
	}
	if _, err := w.apply(ApplyOptions{FieldManager: FieldManager{Actor: "ann"}},
		deployment("prod", "web", `{"image":"web:2"}`)); err != nil {
		t.Fatal(err)
	}
	want("apply", "ann")
	if _, err := w.service.Scale(t.Context(), target, 3, FieldManager{Actor: "bob"}); err != nil {
		t.Fatal(err)
	}
	want("apply", "ann")
	if _, err := w.service.SetConfig(t.Context(), Bucket{Scope: "prod"},
		ConfigChange{Set: map[string]string{"A": "1"}, Actor: "cy"}); err != nil {
		t.Fatal(err)
	}
	want("config", "cy")
	if _, err := w.service.Restart(t.Context(), target, "dan"); err != nil {
		t.Fatal(err)
	}
	want("restart", "dan")
	w.release(1, "web:1", "a")
	if _, err := w.service.Rollback(t.Context(), target,
		RollbackOptions{Release: "v1", FieldManager: FieldManager{Actor: "eve"}}); err != nil {
		t.Fatal(err)
	}
	want("rollback", "eve")
}
