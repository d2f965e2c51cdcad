package daemon

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/change"
)

// given is the last job that an operator got.
type given struct {
	Spec struct {
		Chart struct{ Version string }
	}
	ref *api.ClusterResource
}

// takes accepts the next job, applies its payload and reports the outcome.
func (o *fakeOperator) takes(t *testing.T) given {
	t.Helper()
	job := o.poll(30)
	if job == nil || job.Kind != pull.KindApply {
		t.Fatalf("the job is %+v", job)
	}
	if status := o.about(job, "ack", nil); status != http.StatusNoContent {
		t.Fatalf("ack: %d", status)
	}
	var got given
	if err := json.Unmarshal(job.Payload, &got); err != nil {
		t.Fatal(err)
	}
	got.ref = o.do(job)
	if status := o.result(job, got.ref); status != http.StatusNoContent {
		t.Fatalf("result: %d", status)
	}
	return got
}

// fails reports that a release failed.
func (o *fakeOperator) fails(ref *api.ClusterResource) {
	o.t.Helper()
	event := pull.Event{Kind: pull.EventConditionTransition, EventKey: "failed", ResourceRef: *ref, Timestamp: time.Now(),
		Conditions: []pull.Condition{{Type: "Ready", Status: api.ConditionFalse, Reason: "HelmReleaseFailed"},
			{Type: "Degraded", Status: api.ConditionTrue, Reason: "HelmReleaseFailed", Message: "timed out"}}}
	o.must(http.StatusNoContent, "POST", pull.EventsPath, pull.Events{Events: []pull.Event{event}}, nil)
}

// releasesText returns the kept releases, oldest first, with the status of each.
func (r *running) releasesText() string {
	r.t.Helper()
	releases, err := r.client.Releases(r.t.Context(), client.TargetOf(cloud))
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, info := range releases.Items {
		text := info.ID + " " + info.Chart
		for word, is := range map[string]bool{" current": info.Current, " replaced": info.Replaced} {
			if is {
				text += word
			}
		}
		switch {
		case info.Good:
			text += " good"
		case info.Failed != "":
			text += " " + info.Failed
		}
		if changed := strings.Join(info.Changed, ","); changed != "" {
			text += " " + changed
		}
		out = append([]string{text}, out...)
	}
	return strings.Join(out, "\n")
}

// becomes waits until the kept releases are as wanted.
func (r *running) becomes(want ...string) {
	r.t.Helper()
	text, got := strings.Join(want, "\n"), r.releasesText()
	deadline, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for ; got != text; got = r.releasesText() {
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("the releases are\n%s\nwant\n%s", got, text)
		}
	}
}

// fate returns the status of each change in the history of the instance.
func (r *running) fate() string {
	r.t.Helper()
	page, err := r.client.ListEvents(r.t.Context(),
		client.EventOptions{Kind: cloud.Kind, Scope: cloud.Scope, Name: cloud.Name, Last: true, Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, c := range change.History(page.Events) {
		text := c.Release + " " + string(c.Fate)
		for _, outcome := range c.Outcomes {
			text += map[bool]string{true: "failed " + outcome.Reason, false: "worked"}[outcome.Failed]
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestAnInstanceIsRolledBack: the operator gets the spec of the earlier release once more, and each release has the
// status that the cluster answered; also with the server killed between any two steps.
func TestAnInstanceIsRolledBack(t *testing.T) {
	for name, restart := range map[string]bool{"in one go": false, "with restarts": true} {
		t.Run(name, func(t *testing.T) {
			b := &between{T: t, m: newMachine(t), restart: restart}
			b.start()
			o := newOperator(t, b.r, b.address)
			b.step(o.register)
			b.step(func() { b.r.apply(instance("1.0.0")) })
			var first, second, third given
			b.step(func() { first = o.takes(t) })
			b.r.becomes("v1 nextcloud 1.0.0 current")
			b.step(func() { o.reports(first.ref, api.ConditionTrue, "HelmReleaseReady") })
			b.r.becomes("v1 nextcloud 1.0.0 current good")

			b.step(func() { b.r.apply(instance("2.0.0")) })
			b.step(func() { second = o.takes(t) })
			b.step(func() { o.fails(second.ref) })
			b.r.becomes("v1 nextcloud 1.0.0 good", "v2 nextcloud 2.0.0 current HelmReleaseFailed chart.version")

			planned, err := b.r.client.Rollback(t.Context(), client.TargetOf(cloud), "", client.DryRun)
			if err != nil || planned.Release != "v1" || len(planned.Plan) != 1 ||
				planned.Plan[0].Text != "apply generation 3 in cluster east" {
				t.Fatalf("the dry run: %+v, %v", planned, err)
			}
			if job := o.poll(0); job != nil {
				t.Fatalf("a dry run sends %+v", job)
			}
			b.step(func() {
				done, err := b.r.client.Rollback(t.Context(), client.TargetOf(cloud), "")
				if err != nil || !done.Changed || done.Release != "v1" || done.Generation != 3 {
					t.Fatalf("%+v, %v", done, err)
				}
			})
			b.step(func() { third = o.takes(t) })
			if third.Spec.Chart.Version != "1.0.0" || second.Spec.Chart.Version != "2.0.0" {
				t.Errorf("the operator was given %+v, then %+v", second, third)
			}
			b.step(func() { o.reports(second.ref, api.ConditionTrue, "Late") })
			b.r.becomes("v1 nextcloud 1.0.0 good", "v2 nextcloud 2.0.0 HelmReleaseFailed chart.version",
				"v3 nextcloud 1.0.0 current chart.version")
			b.step(func() { o.reports(third.ref, api.ConditionTrue, "HelmReleaseReady") })
			b.r.becomes("v1 nextcloud 1.0.0 good", "v2 nextcloud 2.0.0 HelmReleaseFailed chart.version",
				"v3 nextcloud 1.0.0 current good chart.version")
			if got := b.r.fate(); got != "v1 worked; v2 failed HelmReleaseFailed; v3 worked" {
				t.Errorf("the history says %s", got)
			}
			b.replaced(o)
		})
	}
}

// replaced replaces a release before its cluster has answered, and deletes the instance.
func (b *between) replaced(o *fakeOperator) {
	b.Helper()
	b.step(func() { b.r.apply(instance("3.0.0")) })
	b.step(func() { o.takes(b.T) })
	b.step(func() { b.r.apply(instance("4.0.0")) })
	b.r.becomes("v1 nextcloud 1.0.0 good", "v2 nextcloud 2.0.0 HelmReleaseFailed chart.version",
		"v3 nextcloud 1.0.0 good chart.version", "v4 nextcloud 3.0.0 replaced chart.version",
		"v5 nextcloud 4.0.0 current chart.version")
	b.step(func() {
		if _, err := b.r.client.Delete(b.Context(), cloud); err != nil {
			b.Fatal(err)
		}
	})
	if _, err := b.r.client.Rollback(b.Context(), client.TargetOf(cloud), "v3"); err == nil ||
		!strings.Contains(err.Error(), "is being deleted") {
		b.Errorf("what is being deleted is rolled back: %v", err)
	}
	b.step(func() { // Who asks before the deletion was planned gets the release that waits.
		for o.finish(b.T) != pull.KindDelete {
		}
	})
	b.r.gone(cloud)
	b.r.apply(instance("1.0.0"))
	b.r.becomes("v1 nextcloud 1.0.0 current")
}
