package verbs

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestDeleteKeepsConfigUnlessAsked: an object that is created again finds its bucket, unless its deletion removed it.
func TestDeleteKeepsConfigUnlessAsked(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`), deployment("prod", "web-2", `{"image":"web:1"}`))
	web, other := Bucket{Scope: "prod", Name: "web"}, Bucket{Scope: "prod", Name: "web-2"}
	w.set(web, "A", "1", "B", "2")
	w.set(other, "C", "3")
	w.set(Bucket{Scope: "prod"}, "D", "4")
	w.set(Bucket{Scope: "prod-2", Name: "x"}, "E", "5")
	if apps := ConfigApps(w.snapshot(), "prod"); !slices.Equal(apps, []string{"web", "web-2"}) {
		t.Errorf("%v have keys", apps)
	}
	target := TargetOf(ref("prod", "web"))
	if got, err := w.service.Delete(t.Context(), target, "me"); err != nil || len(got.RemovedConfig) > 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if keys := ConfigKeys(w.snapshot(), web); len(keys) != 2 {
		t.Errorf("%v are left", keys)
	}
	got, err := w.service.DeleteWith(t.Context(), target, DeleteOptions{Prune: true})
	if err != nil || !slices.Equal(got.RemovedConfig, []string{"A", "B"}) {
		t.Errorf("while it is going: %+v, %v", got, err)
	}
	if mine, others, scope := ConfigKeys(w.snapshot(), web), ConfigKeys(w.snapshot(), other),
		ConfigKeys(w.snapshot(), Bucket{Scope: "prod"}); len(mine) > 0 || len(others) != 1 || len(scope) != 1 {
		t.Errorf("left are %v, of others %v and %v", mine, others, scope)
	}
}

// TestPruningTakesNothingFromOthers: it removes neither a bucket that another object reads, nor the workload's bucket
// with its ingress.
func TestPruningTakesNothingFromOthers(t *testing.T) {
	w := newWorld(t, withKeys)
	ingress := api.Object{Kind: api.KindIngress, Scope: "prod", Name: "db",
		Spec: []byte(`{"host":"shop.org","service":"web"}`)}
	w.mustApply(deployment("prod", "db", `{"image":"web:1"}`),
		deployment("prod", "web", `{"image":"web:1","env_from":["db"]}`), ingress)
	db := Bucket{Scope: "prod", Name: "db"}
	w.set(db, "A", "1")
	if _, err := w.service.DeleteWith(t.Context(), TargetOf(ingress.Ref()), DeleteOptions{Prune: true}); err != nil {
		t.Error(err)
	}
	_, err := w.service.DeleteWith(t.Context(), TargetOf(ref("prod", "db")), DeleteOptions{Prune: true})
	wantReason(t, err, InUse)
	if object := w.snapshot().Object(ref("prod", "db")); len(ConfigKeys(w.snapshot(), db)) != 1 ||
		object.Value.Metadata.Deleting() {
		t.Error("what was refused was done")
	}
}

// TestDeleteWithVolumes marks the object for its controller, and distinguishes the volumes that it removes from those
// that no pod is left to remove, or whose node is off.
func TestDeleteWithVolumes(t *testing.T) {
	w := newWorld(t)
	w.mustApply(statefulSet(`{"image":"db:1","replicas":3,"volume_claims":[{"name":"data","mount_path":"/data"}]}`))
	w.fills("1", nil)
	node := w.snapshot().Task("task-1").Value.Node
	for _, volume := range []string{"tend-prod-db-data-1", "tend-prod-db-data-7", // scaled down
		"tend-prod-db-logs-7", "tend-prod-db-data-x", "tend-prod-dbs-data-7"} { // another's
		w.put(records.HomeKey(volume), node)
	}
	w.put(records.HomeKey("tend-prod-db-data-10"), "other")
	w.fills("2", func(t *api.Task) { t.Node = "off" })
	w.put(records.TaskStatusKey("task-2"),
		api.TaskStatus{ID: "task-2", Node: "off", State: api.TaskFailed, Reason: api.ReasonNodeDown})
	w.put(records.HomeKey("tend-prod-db-data-0"), node)
	w.fills("0", func(t *api.Task) { t.Desired = api.DesiredRemoved }) // by a scale, without its volumes
	got, err := w.service.DeleteWith(t.Context(), TargetOf(dbRef), DeleteOptions{Volumes: true})
	if err != nil || !slices.Equal(got.RemovedVolumes, []string{"tend-prod-db-data-1", "tend-prod-db-data-7"}) ||
		!slices.Equal(got.Volumes, []string{"tend-prod-db-data-0", "tend-prod-db-data-2", "tend-prod-db-data-10"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if object := w.snapshot().Object(dbRef).Value; object.Metadata.Stamps[api.StampWipe] == "" ||
		!object.Metadata.Deleting() {
		t.Errorf("%+v", object.Metadata)
	}
}
