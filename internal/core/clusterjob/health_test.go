package clusterjob

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestHealthIsOfTheNewestWrite: the health of an application's objects is kept with the generation that it was reported
// of. It goes when a newer one, or another resource, is applied, and a report of an older one changes nothing.
func TestHealthIsOfTheNewestWrite(t *testing.T) {
	now := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	job := api.ClusterJob{ID: "j1", UID: "u1", Action: api.ActionApply, Generation: 1}
	stored := api.ClusterReport{UID: "u1", Job: "j1"}
	apply := func(id, uid string, generation int64) {
		job.ID, stored.Job = id, id
		stored, _ = TakeStatus(&stored, job, pull.Status{Timestamp: now,
			AppliedRef: &api.ClusterResource{Name: "web", UID: uid, Generation: generation}}, now)
	}
	take := func(uid string, generation int64, health api.ClusterHealth, want Verdict) {
		t.Helper()
		var verdict Verdict
		stored, verdict = TakeEvent(&stored, "u1", pull.Event{
			Kind: pull.EventConditionTransition, ResourceRef: api.ClusterResource{UID: uid, Generation: generation},
			Inventory: &pull.Inventory{Count: 1, Health: health, Objects: []api.ClusterObject{
				{ClusterResource: api.ClusterResource{Kind: "Deployment", Name: "web"}, Health: health, Message: "m"},
			}},
		}, now)
		if verdict != want {
			t.Errorf("%s of %s/%d: verdict %d, want %d", health, uid, generation, verdict, want)
		}
	}
	has := func(step string, want api.ClusterHealth) {
		t.Helper()
		in := Input{Report: &stored, Object: api.Object{Kind: api.KindApplicationInstance}, Now: now}
		status := in.status(&job, time.Time{})
		if len(status.Objects) != 1 || status.Health != want || status.Objects[0].Health != want {
			t.Errorf("%s: %s, %+v, want %s", step, status.Health, status.Objects, want)
		}
	}
	apply("j1", "c1", 1)
	take("c1", 1, api.ClusterHealthy, Taken)
	has("reported", api.ClusterHealthy)
	take("c1", 1, api.ClusterHealthy, Repeated)
	take("c1", 1, "Wonderful", Taken)
	has("a word without a meaning", "")
	take("c1", 1, api.ClusterHealthy, Taken)
	apply("j2", "c1", 1)
	has("the same applied again", api.ClusterHealthy)
	apply("j3", "c1", 2)
	has("a newer generation", "")
	take("c1", 1, api.ClusterHealthy, Repeated)
	has("a report of the older one", "")
	take("c1", 3, api.ClusterDegraded, Taken)
	apply("j4", "c1", 3)
	has("reported before its job was", api.ClusterDegraded)
	apply("j5", "c2", 1)
	has("another resource of the name", "")
	take("c2", 1, api.ClusterMissing, Taken)
	has("its own report", api.ClusterMissing)

	job.ID = "j6"
	has("declared, not applied", "")
}

// TestHealthOfASilentCluster: what a cluster said last may not be true any more.
func TestHealthOfASilentCluster(t *testing.T) {
	report := api.ClusterReport{UID: "u1", AppliedJob: "j1", ObjectCount: 1, Health: api.ClusterHealthy,
		Objects: []api.ClusterObject{{Health: api.ClusterHealthy}}}
	in := Input{Report: &report, Object: api.Object{Kind: api.KindApplicationInstance}}
	job := &api.ClusterJob{ID: "j1", Action: api.ActionApply}
	if got := in.status(job, time.Time{}).Health; got != api.ClusterHealthy {
		t.Errorf("connected: %q", got)
	}
	in.Cluster.Connected = &api.Condition{Status: api.ConditionFalse, Reason: api.ReasonNoRecentRoundTrip}
	if status := in.status(job, time.Time{}); status.Health != "" || status.Objects[0].Health != "" {
		t.Errorf("silent: %+v", status)
	}
	if report.Objects[0].Health != api.ClusterHealthy {
		t.Error("the report was changed")
	}
}
