package clusterapi

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestTwoClusters: two clusters with objects in one scope. Each operator gets its own cluster's jobs, and can't report
// for the other one. An object that moves is the new cluster's alone.
func TestTwoClusters(t *testing.T) {
	inHarness(t, func(h *harness) {
		east, west := h.registered("east"), h.registered("west")
		web, shop := instance("web", 1), inWest(instance("shop", 1))
		h.put(web)
		h.put(shop)
		job := h.only(east, web)
		h.want(204, "", h.call(h.ctx, west, "POST", path(h.only(west, shop), "ack"), nil))
		h.refuses(west, web, job)
		h.want(204, "", h.call(h.ctx, east, "POST", path(job, "ack"), nil))
		h.refuses(west, web, job)
		h.want(204, "", h.call(h.ctx, east, "POST", path(job, "result"), pull.Result{Outcome: pull.OutcomeSucceeded}))
		h.refuses(west, web, job)

		now := time.Now()
		web.Metadata.DeletedAt = &now
		h.put(web)
		end := h.only(east, web)
		h.refuses(west, web, end)
		h.want(204, "", h.call(h.ctx, east, "POST", path(end, "ack"), nil))
		h.want(204, "", h.call(h.ctx, east, "POST", path(end, "result"), pull.Result{Outcome: pull.OutcomeSucceeded}))
		synctest.Wait()
		if h.snapshot().Object(web.Ref()).Exists() || h.snapshot().ClusterJob("east", web.Ref()).Exists() ||
			h.snapshot().ClusterReport(web.Ref()).Exists() {
			h.Error("something of the moved object is left")
		}

		moved := inWest(instance("web", 1))
		moved.Metadata.UID = "uid-moved"
		h.put(moved)
		again := h.only(west, moved)
		h.refuses(east, moved, again)
		if left := h.poll(east, 0); len(left) > 0 {
			h.Errorf("east is sent %+v", left)
		}
	})
}

// inWest returns an instance for the cluster west.
func inWest(object api.Object) api.Object {
	object.Spec = bytes.Replace(object.Spec, []byte(`"east"`), []byte(`"west"`), 1)
	return object
}

// only returns the single job sent to a cluster, which must be for the object.
func (h *harness) only(token string, object api.Object) pull.Job {
	h.Helper()
	synctest.Wait()
	jobs := h.poll(token, 0)
	if len(jobs) != 1 || !strings.HasPrefix(jobs[0].Object, object.Metadata.UID+".") {
		h.Fatalf("%d jobs, want one of %s", len(jobs), object.Ref())
	}
	return jobs[0]
}

// refuses makes another cluster's operator report about a job and its resource, and checks that nothing changes.
func (h *harness) refuses(other string, object api.Object, job pull.Job) {
	h.Helper()
	before, status := h.snapshot().ClusterReport(object.Ref()).Modified, h.status(object.Ref())
	h.want(404, "NotFound", h.call(h.ctx, other, "POST", path(job, "ack"), nil))
	h.want(404, "NotFound", h.call(h.ctx, other, "POST", path(job, "status"), pull.Status{Phase: "Running"}))
	h.want(404, "NotFound", h.call(h.ctx, other, "POST", path(job, "result"), pull.Result{Outcome: pull.OutcomeNoop}))
	h.want(204, "", h.call(h.ctx, other, "POST", pull.EventsPath, pull.Events{Events: []pull.Event{{
		Kind: pull.EventResourceState, State: &pull.State{Key: job.IdempotencyKey, Missing: true}, Timestamp: time.Now(),
		ResourceRef: api.ClusterResource{
			APIVersion: api.AppsAPIVersion, Kind: api.ApplicationInstanceKind, Namespace: object.Scope, Name: object.Name,
		},
	}}}))
	after := h.status(object.Ref())
	if h.snapshot().ClusterReport(object.Ref()).Modified != before || after.Phase != status.Phase {
		h.Errorf("another cluster's operator changed %s from %s to %s", object.Ref(), status.Phase, after.Phase)
	}
}
