package verbs

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

func TestRunRelease(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	target := Target{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	_, err := w.service.RunRelease(t.Context(), target, "someone")
	wantReason(t, err, Invalid)
	web := ref("prod", "web")
	w.put(records.StatusKey(web), api.WorkloadStatus{Release: "v2"})
	for spec, refused := range map[string]bool{`{"image":"web:1"}`: true, `{"image":"web:1","release":{"command":["migrate"]}}`: false} {
		w.put(records.ReleaseKey(web, "v2"), api.Release{ID: "v2", Kind: web.Kind, Spec: []byte(spec)})
		got, err := w.service.RunRelease(t.Context(), target, "someone")
		if refused {
			wantReason(t, err, Invalid)
			continue
		}
		stored := w.snapshot().Run(web, got.Run.ID)
		if err != nil || !stored.Exists() || stored.Value.State != api.RunPending || stored.Value.Trigger != api.TriggerManual ||
			stored.Value.Release != "v2" || stored.Value.By != "someone" || !strings.HasPrefix(got.Run.ID, "v2-m-") {
			t.Errorf("%v: stored %+v", err, stored.Value)
		}
	}
}
