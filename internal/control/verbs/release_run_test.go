package verbs

import (
	"cmp"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func TestRunRelease(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	target := Target{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	_, err := w.service.RunRelease(t.Context(), target, "someone")
	wantReason(t, err, Invalid)
	web := ref("prod", "web")
	w.put(records.StatusKey(web), api.WorkloadStatus{Release: "v2"})
	for spec, refused := range map[string]bool{`{"image":"web:1"}`: true,
		`{"image":"web:1","release":{"command":["migrate"]}}`: false} {
		w.put(records.ReleaseKey(web, "v2"), api.Release{ID: "v2", Kind: web.Kind, Spec: []byte(spec)})
		got, err := w.service.RunRelease(t.Context(), target, "someone")
		if refused {
			wantReason(t, err, Invalid)
			continue
		}
		stored := w.snapshot().Run(web, got.Run.ID)
		if err != nil || !stored.Exists() || stored.Value.State != api.RunPending ||
			stored.Value.Trigger != api.TriggerManual ||
			stored.Value.Release != "v2" || stored.Value.By != "someone" || !strings.HasPrefix(got.Run.ID, "v2-m-") {
			t.Errorf("%v: stored %+v", err, stored.Value)
		}
	}
}

// TestARepeatRunsNoOtherRelease: a request whose answer was lost is repeated, and another release is in force by then.
// The run that came of the first is the answer.
func TestARepeatRunsNoOtherRelease(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	web, target := ref("prod", "web"), Target{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	ctx, err := WithIdempotencyKey(t.Context(), "0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for _, release := range []api.Release{
		{ID: "v1", Spec: []byte(`{"image":"web:1","release":{"command":["migrate"]}}`)},
		{ID: "v2", Spec: []byte(`{"image":"web:2","release":{"command":["migrate"]}}`)},
		{ID: "v3", Spec: []byte(`{"image":"web:3"}`)},
	} {
		release.Kind = web.Kind
		w.put(records.ReleaseKey(web, release.ID), release)
		w.put(records.StatusKey(web), api.WorkloadStatus{Release: release.ID})
		got, err := w.service.RunRelease(ctx, target, "someone")
		if first = cmp.Or(first, got.Run.ID); err != nil || got.Run.ID != first || got.Revision == 0 ||
			len(w.snapshot().Runs(web)) != 1 {
			t.Errorf("with %s in force: %+v, %v; want %s", release.ID, got, err, first)
		}
	}
}
