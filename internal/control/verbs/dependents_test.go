package verbs

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestDeleteNamesDependents: a dry run lists everything that needs an object and deletes nothing.
func TestDeleteNamesDependents(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "db", `{"image":"db:1"}`),
		deployment("prod", "a",
			`{"image":"web:1","env":{"DB":"${ref.deployment.db.host}:${ref.deployment.db.port}","LITERAL":"$${ref.deployment.db.host}"}}`),
		deployment("prod", "b", `{"image":"web:1","depends_on":{"workloads":["deployment/prod/db"]}}`),
		deployment("far", "c", `{"image":"web:1","env_from":["prod/db"]}`),
		deployment("prod", "other", `{"image":"web:1","env":{"DB":"db"}}`),
		api.Object{Kind: api.KindIngress, Scope: "prod", Name: "front",
			Spec: json.RawMessage(`{"host":"shop.org","service":"db"}`)},
		api.Object{Kind: api.KindIngress, Scope: "far", Name: "db", Spec: json.RawMessage(`{"host":"far.org"}`)})
	got, err := w.service.DeleteWith(t.Context(), TargetOf(ref("prod", "db")), DeleteOptions{DryRun: true})
	if err != nil || !got.DryRun {
		t.Fatalf("%+v, %v", got, err)
	}
	var named []string
	for _, d := range got.Dependents {
		named = append(named, fmt.Sprintf("%s %s", d.Ref, d.Field))
	}
	want := []string{"deployment/far/c env_from", "deployment/prod/a env.DB", "deployment/prod/b depends_on",
		"ingress/prod/front service"}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Error(diff)
	}
	if w.object(ref("prod", "db")).Metadata.Deleting() {
		t.Error("a dry run deleted it")
	}
}
