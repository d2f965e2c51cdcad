package workload

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// history is a deployment with releases v1 to vN, none of them in use by itself, and one to keep.
func history(n int) observed {
	keep := 1
	o := scene{spec: replicas(1, "web:1"), unminted: true}.observed()
	o.spec.KeepReleases = &keep
	for i := range n {
		release := &api.Release{ID: fmt.Sprintf("v%d", i+1), Number: i + 1, SpecHash: "x"}
		o.releases = append(o.releases, records.Read[api.Release]{Value: release})
	}
	return o
}

// The releases to delete are those older than the newest that are kept, except those that something refers to.
func TestSurplusReleases(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		edit   func(*observed, *assessment)
		want   string
	}{
		"none in use": {"the newest stays", func(*observed, *assessment) {}, "[v1 v2 v3]"},
		"more kept": {"as many as the spec says", func(o *observed, _ *assessment) { *o.spec.KeepReleases = 3 },
			"[v1]"},
		"minted": {"the new one counts", func(_ *observed,
			a *assessment) {
			a.target = target{release: &api.Release{ID: "v5"}, mint: true}
		}, "[v1 v2 v3 v4]"},
		"wanted": {"what is rolled out", func(o *observed, a *assessment) { a.target.release = o.release("v1") },
			"[v2 v3]"},
		"last good": {"what an automatic rollback returns to",
			func(o *observed, _ *assessment) { o.status.Value.Rollout.LastGoodRelease = "v2" }, "[v1 v3]"},
		"in force": {"what the status names", func(o *observed,
			_ *assessment) {
			o.status.Value.Rollout.TargetRelease = "v2"
		}, "[v1 v3]"},
		"pinned": {"what a rollback repeats", func(o *observed, _ *assessment) {
			o.object.Value.Metadata.Stamps = map[string]string{api.StampRollback: "v3"}
		}, "[v1 v2]"},
		"run": {"what a task runs, or ran", func(o *observed,
			_ *assessment) {
			o.tasks = []owner.Task{slot("a", "v1", crashed)}
		}, "[v2 v3]"},
		"deleting": {"they go with the object", func(o *observed,
			_ *assessment) {
			o.object.Value.Metadata.DeletedAt = &epoch
		}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			o, a := history(4), assessment{}
			test.edit(&o, &a)
			if got := fmt.Sprint(o.surplusReleases(a)); got != test.want {
				t.Errorf("%s: %s go, want %s", test.reason, got, test.want)
			}
		})
	}
}

// A number that was ever used is in the status, even if its release is gone.
func TestMintCountsOn(t *testing.T) {
	l := newHarness(t)
	for _, test := range []struct{ releases, last, want int }{{0, 0, 1}, {2, 0, 3}, {2, 2, 3}, {1, 7, 8}, {0, 7, 8}} {
		o := history(test.releases)
		o.status.Value.LastReleaseNumber = test.last
		got, err := l.c.mint(o, identity{hash: "y"})
		if err != nil || got.Number != test.want || got.ID != fmt.Sprintf("v%d", test.want) {
			t.Errorf("after %d releases, %d the highest: %+v, %v", test.releases, test.last, got, err)
		}
	}
}

// An object that is being deleted requests no image, whatever its spec says.
func TestImageRequest(t *testing.T) {
	o := scene{spec: replicas(1, "web:1"), stamps: map[string]string{api.StampPull: "n"}}.observed()
	want, due := o.wantedImage()
	if !due || want != (api.ImageRequest{Owner: web, Image: "web:1", Nonce: "n"}) {
		t.Errorf("%+v, due: %v", want, due)
	}
	o.request = records.Read[api.ImageRequest]{Value: &want}
	if _, due := o.wantedImage(); due {
		t.Error("it was asked for already")
	}
	o.spec.Image = "web:2"
	if _, due := o.wantedImage(); !due {
		t.Error("another image isn't asked for")
	}
	o.object.Value.Metadata.DeletedAt = &epoch
	if _, due := o.wantedImage(); due {
		t.Error("a deleted object asks for an image")
	}
}
