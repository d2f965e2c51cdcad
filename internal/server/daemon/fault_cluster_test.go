package daemon

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/store/records"
)

// TestEveryFailpointOfAnApplication is TestEveryFailpoint for a user who applies, changes, rolls back and deletes an
// application, and for a cluster that answers late, twice, wrongly or never.
func TestEveryFailpointOfAnApplication(t *testing.T) {
	everyFailpoint(t, story{live: (*drill).liveInACluster, points: 12, nodes: true})
}

// townhall is an application that is deleted in the end.
var townhall = api.Ref{Kind: cloud.Kind, Scope: cloud.Scope, Name: "townhall"}

func (d *drill) liveInACluster() {
	d.t.Helper()
	o := d.register()
	d.forget(o)

	d.say(instance("1.0.0"))
	first := d.take(o, 1)
	d.say(instance("1.1.0"))
	d.until("another job takes the place of the first", func(ctx context.Context) bool {
		return d.deliveredOf(ctx, cloud).Release == "v2"
	})
	d.answersLate(o, first)
	d.succeeds(o, 2, 1)

	d.say(instance("2.0.0"))
	d.fails(o, 3)
	d.declare("rollback", func(ctx context.Context) error {
		_, err := d.client.Rollback(ctx, client.TargetOf(cloud), "v2")
		return err
	})
	d.succeeds(o, 4, 4)

	d.say(instance("3.0.0")) // the cluster never takes it
	d.until("the last release waits", func(ctx context.Context) bool { return d.deliveredOf(ctx, cloud).Release == "v5" })
}

// register declares a cluster, and returns its operator.
func (d *drill) register() *fakeOperator {
	d.t.Helper()
	d.say(api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte("{}")})
	var registration api.ClusterRegistration
	d.declare("invite", func(ctx context.Context) (err error) {
		registration, err = d.client.InviteCluster(ctx, "east", time.Hour, false)
		return err
	})
	o := operatorOf(d.t, registration, func() string { return d.address })
	o.revive = d.revive
	o.register()
	return o
}

// forget has an application installed and deleted.
func (d *drill) forget(o *fakeOperator) {
	d.t.Helper()
	object := instance("1.0.0")
	object.Name = townhall.Name
	d.say(object)
	job := d.take(o, 1)
	d.audit.says(townhall, 1, "good")
	ref := o.do(job)
	d.ends(o, job, pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: ref})
	o.reports(ref, api.ConditionTrue, "HelmReleaseReady")
	d.declare("delete", func(ctx context.Context) error {
		_, err := d.client.Delete(ctx, townhall)
		if client.IsNotFound(err) && d.deaths > 0 {
			return nil
		}
		return err
	})
	job = d.take(o, 1)
	o.do(job)
	d.ends(o, job, pull.Result{Outcome: pull.OutcomeSucceeded})
	d.until("the deleted one is gone", func(ctx context.Context) bool {
		_, err := d.client.Object(ctx, townhall)
		return client.IsNotFound(err)
	})
}

// take has the operator take the job of a generation.
func (d *drill) take(o *fakeOperator, generation int64) *pull.Job {
	d.t.Helper()
	var job *pull.Job
	d.until(fmt.Sprint("the job of generation ", generation, " is sent"), func(context.Context) bool {
		job = o.poll(1)
		return job != nil && strings.HasSuffix(job.Object, fmt.Sprint(".", generation))
	})
	if status := o.about(job, "ack", nil); status != http.StatusNoContent {
		d.t.Fatalf("ack: %d", status)
	}
	return job
}

// ends has the operator give the result of a job, and give it again: the first is taken, unless a server that died has
// taken it already, and the second never is.
func (d *drill) ends(o *fakeOperator, job *pull.Job, result pull.Result) {
	d.t.Helper()
	result.Timestamp = time.Now()
	closed := func(got int) bool { // a job that deleted its object goes with it
		return got == http.StatusConflict || got == http.StatusNotFound && job.Kind == pull.KindDelete
	}
	if got := o.about(job, "result", result); got != http.StatusNoContent && (d.deaths == 0 || !closed(got)) {
		d.t.Errorf("the result of %s: %d", job.IdempotencyKey, got)
	}
	if got := o.about(job, "result", result); !closed(got) {
		d.t.Errorf("a second result of %s: %d", job.IdempotencyKey, got)
	}
}

// answersLate has the operator answer a job after another has taken its place.
func (d *drill) answersLate(o *fakeOperator, job *pull.Job) {
	d.t.Helper()
	ref := o.do(job)
	d.audit.says(cloud, 1, "HelmReleaseFailed")
	for what, body := range map[string]any{
		"status": pull.Status{Phase: "Running", AppliedRef: ref, Timestamp: time.Now()},
		"result": pull.Result{Outcome: pull.OutcomeFailed, Error: "too late", AppliedRef: ref, Timestamp: time.Now()},
	} {
		if got := o.about(job, what, body); got != http.StatusConflict {
			d.t.Errorf("a late %s: %d", what, got)
		}
	}
	o.event(ref, pull.Event{Conditions: []pull.Condition{{Type: api.ConditionDegraded, Status: api.ConditionTrue,
		Reason: "HelmReleaseFailed", Message: "too late"}}})
}

// succeeds has the operator do the job of a generation, which becomes a revision of Helm. Before that it says things of
// the generation before, and of a job that nobody has.
func (d *drill) succeeds(o *fakeOperator, generation, revision int64) {
	d.t.Helper()
	job := d.take(o, generation)
	wrong := *job
	wrong.ID = strings.Replace(job.ID, "cloud", "nobody", 1)
	done := pull.Result{Outcome: pull.OutcomeSucceeded, Timestamp: time.Now()}
	if got := o.about(&wrong, "result", done); got != http.StatusNotFound {
		d.t.Errorf("a result of no job: %d", got)
	}
	ref := o.do(job)
	d.applied(o, job, ref)
	before := *ref
	before.Generation--
	o.event(&before, pull.Event{
		Conditions: []pull.Condition{{Type: api.ConditionReady, Status: api.ConditionFalse, Reason: "Late"}},
	})
	d.audit.says(cloud, generation, "good")
	for range 2 {
		o.event(ref, pull.Event{
			EventKey: fmt.Sprint("ready/", generation), History: &pull.History{
				Current: revision, Revisions: []api.HelmRevision{{Revision: revision, Status: "deployed"}},
			},
			Conditions: []pull.Condition{
				{Type: api.ConditionReady, Status: api.ConditionTrue, Reason: "HelmReleaseReady"},
				{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: "Recovered"},
			},
		})
	}
	d.ends(o, job, pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: ref})
	d.until(fmt.Sprint("generation ", generation, " is ready"), func(ctx context.Context) bool {
		status := d.deliveredOf(ctx, cloud)
		outcome := status.Outcomes[status.Release]
		return isReady(generation, "HelmReleaseReady")(status) && outcome.Good && outcome.HelmRevision == revision
	})
}

// fails has the operator apply a generation that doesn't get healthy.
func (d *drill) fails(o *fakeOperator, generation int64) {
	d.t.Helper()
	job := d.take(o, generation)
	ref := o.do(job)
	d.applied(o, job, ref)
	d.audit.says(cloud, generation, "HelmReleaseFailed")
	o.event(ref, pull.Event{Conditions: []pull.Condition{
		{Type: api.ConditionReady, Status: api.ConditionFalse, Reason: "HelmReleaseFailed"},
		{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: "HelmReleaseFailed", Message: "no such image"},
	}})
	d.ends(o, job, pull.Result{Outcome: pull.OutcomeFailed, Error: "it is not healthy", AppliedRef: ref})
	d.until(fmt.Sprint("generation ", generation, " has failed"), func(ctx context.Context) bool {
		status := d.deliveredOf(ctx, cloud)
		return status.Outcomes[status.Release].Reason == "HelmReleaseFailed"
	})
}

// applied has the operator say that it has applied a job.
func (d *drill) applied(o *fakeOperator, job *pull.Job, ref *api.ClusterResource) {
	d.t.Helper()
	status := pull.Status{Phase: "Running", AppliedRef: ref, Timestamp: time.Now()}
	if got := o.about(job, "status", status); got != http.StatusNoContent {
		d.t.Fatalf("status: %d", got)
	}
}

// event sends an event about a resource.
func (o *fakeOperator) event(ref *api.ClusterResource, event pull.Event) {
	o.t.Helper()
	event.Kind, event.ResourceRef, event.Timestamp = pull.EventConditionTransition, *ref, time.Now()
	o.must(http.StatusNoContent, "POST", pull.EventsPath, pull.Events{Events: []pull.Event{event}}, nil)
}

func (d *drill) deliveredOf(ctx context.Context, ref api.Ref) (status api.DeliveredStatus) {
	object, err := d.client.Object(ctx, ref)
	if err != nil {
		return status
	}
	if status, err = api.DecodeStatus[api.DeliveredStatus](object); err != nil {
		d.t.Fatal(err)
	}
	return status
}

// says records what a cluster is about to say of a generation of an object.
func (a *audit) says(ref api.Ref, generation int64, outcome string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[fmt.Sprint(ref, " ", generation, " ", outcome)] = true
}

// answered: a release has an outcome once the cluster has said it of this very generation. A good one stays good.
func (a *audit) answered(key string, was, is []byte) {
	var before, after api.DeliveredStatus
	if was != nil {
		decode(was, &before)
	}
	decode(is, &after)
	ref, _, _ := records.ParseRef(strings.TrimPrefix(key, records.StatusPrefix))
	for id, outcome := range after.Outcomes {
		said := outcome.Reason
		if outcome.Good {
			said = "good"
		} else if before.Outcomes[id].Good {
			a.fault("%s: release %s was good, and is %+v", key, id, outcome)
		}
		var release api.Release
		if stored := a.last[records.ReleaseKey(ref, id)]; stored != nil {
			decode(stored, &release)
		}
		if !a.answers[fmt.Sprint(ref, " ", release.Generation, " ", said)] {
			a.fault("%s: release %s of generation %d is %s, which the cluster has not said: %v", key, id, release.Generation,
				said, slices.Sorted(maps.Keys(a.answers)))
		}
	}
}
