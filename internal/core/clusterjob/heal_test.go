package clusterjob

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// finds has the operator report how the resource compares with what the present job applied, now.
func (w *world) finds(t *testing.T, state pull.State) Verdict {
	t.Helper()
	if state.Key == "" {
		state.Key = w.job.Key
	}
	ref := ResourceOf(w.object.Ref())
	if !state.Missing {
		ref.UID, ref.Generation = "k1", 101
	}
	next, verdict := TakeEvent(w.report, w.object.Metadata.UID,
		pull.Event{Kind: pull.EventResourceState, ResourceRef: ref, State: &state, Timestamp: w.now}, w.now)
	w.report = &next
	return verdict
}

// changed is a declared field that another manager has set.
func changed(manager string) pull.State {
	return pull.State{Differences: []api.ClusterDifference{{Field: "spec.chart.version", Declared: `"1.0.0"`,
		Live: `"2.0.0"`, Manager: manager}}}
}

// readyWorld is an instance that was applied, and is ready.
func readyWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	w.settle(t)
	w.event(t, 101, w.now, ready(api.ConditionTrue, "HelmReleaseReady"))
	w.finds(t, pull.State{})
	w.control(t)
	w.wantCondition(t, "at first", api.ConditionReady, api.ConditionTrue, "HelmReleaseReady")
	return w
}

// TestHealing: what is missing, or was changed, is applied again at once under another key, and is ready when the
// cluster says so of that apply.
func TestHealing(t *testing.T) {
	for name, tc := range map[string]struct {
		state  pull.State
		reason string
		force  bool
	}{
		"missing": {pull.State{Missing: true}, api.ReasonMissing, false},
		"changed": {changed("kubectl-patch"), api.ReasonDrifted, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyWorld(t)
			w.now = w.now.Add(time.Minute)
			first := *w.job
			w.finds(t, tc.state)
			w.control(t)
			if w.job.ID == first.ID || w.job.Key == first.Key || w.job.Heal == nil || w.job.Heal.Force != tc.force ||
				w.job.Action != api.ActionApply {
				t.Fatalf("%+v, after %s", w.job, first.Key)
			}
			w.wantCondition(t, "found", api.ConditionReady, api.ConditionFalse, tc.reason)
			w.wantCondition(t, "found", api.ConditionDegraded, api.ConditionFalse, api.ReasonAsExpected)
			w.wantCondition(t, "found", api.ConditionProgressing, api.ConditionTrue, api.ReasonWaitingForCluster)
			w.settle(t)
			w.wantCondition(t, "applied again", api.ConditionReady, api.ConditionUnknown, api.ReasonNotReported)
			if verdict := w.event(t, 101, w.now.Add(-time.Second),
				ready(api.ConditionTrue, "HelmReleaseReady")); verdict != Repeated {
				t.Errorf("what was said before the apply: %v", verdict)
			}
			w.now = w.now.Add(time.Second)
			w.event(t, 101, w.now, ready(api.ConditionTrue, "HelmReleaseReady"))
			w.control(t)
			w.wantCondition(t, "healed", api.ConditionReady, api.ConditionTrue, "HelmReleaseReady")
			if w.applies[w.job.Key] != 1 {
				t.Errorf("applied %d times", w.applies[w.job.Key])
			}
		})
	}
}

// TestAnotherResourceIsNotForced: one of the name that Tend did not apply is its maker's; a conflict says so.
func TestAnotherResourceIsNotForced(t *testing.T) {
	w := readyWorld(t)
	state := changed("kubectl-create")
	state.Key = w.job.Key
	ref := ResourceOf(w.object.Ref())
	ref.UID, ref.Generation = "k2", 1
	next, _ := TakeEvent(w.report, w.object.Metadata.UID,
		pull.Event{Kind: pull.EventResourceState, ResourceRef: ref, State: &state, Timestamp: w.now}, w.now)
	w.report = &next
	if w.control(t); w.job.Heal == nil || w.job.Heal.Force {
		t.Errorf("%+v", w.job.Heal)
	}
}

// TestHealingBacksOff: a manager that changes a resource again and again is named, and waited for longer and longer; a
// resource that stays as it was applied begins again.
func TestHealingBacksOff(t *testing.T) {
	w := readyWorld(t)
	var waits []string
	for range 9 {
		w.now = w.now.Add(time.Second)
		w.finds(t, changed("other-controller"))
		found, job := w.now, w.job.ID
		for w.control(t); w.job.ID == job; w.control(t) {
			c := api.FindCondition(w.status.Conditions, api.ConditionDegraded)
			if c.Status != api.ConditionTrue || !strings.Contains(c.Message, "other-controller") ||
				!strings.Contains(c.Next, "other-controller") {
				t.Fatalf("while it waits: %+v", c)
			}
			w.wantCondition(t, "while it waits", api.ConditionReady, api.ConditionFalse, api.ReasonDrifted)
			w.now = w.now.Add(time.Second)
		}
		waits = append(waits, w.now.Sub(found).String())
		if w.job.Heal.Count > 1 { // who waits for it waits for the other manager
			w.wantCondition(t, "sent again", api.ConditionProgressing, api.ConditionFalse, api.ReasonComplete)
		}
		w.settle(t)
	}
	if got, want := strings.Join(waits, " "), "0s 15s 30s 1m0s 2m0s 4m0s 8m0s 16m0s 30m0s"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
	w.now = w.now.Add(calm + lastHeal)
	w.finds(t, changed("other-controller"))
	if w.control(t); w.job.Heal.Count != 1 {
		t.Errorf("after a calm time it is the %d. time", w.job.Heal.Count)
	}
}

// TestDriftIsOnlyReported: by the cluster's field, or the object's annotation, which counts more. Neither makes a job.
func TestDriftIsOnlyReported(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster, object string
		heals           bool
	}{
		"default": {"", "", true}, "cluster": {"report", "", false}, "object": {"", "report", false},
		"object counts more": {"report", "heal", true},
	} {
		w := readyWorld(t)
		job := w.job.ID
		w.known.Spec.Drift = tc.cluster
		if tc.object != "" {
			w.object.Metadata.Annotations = map[string]string{api.AnnotationDrift: tc.object}
		}
		if w.control(t); w.job.ID != job || strings.Contains(string(w.job.Payload), api.AnnotationDrift) {
			t.Errorf("%s: the switch makes a job", name)
		}
		w.finds(t, changed("kubectl-patch"))
		w.control(t)
		if healed := w.job.ID != job; healed != tc.heals {
			t.Errorf("%s: healed %v, want %v", name, healed, tc.heals)
		}
		w.wantCondition(t, name, api.ConditionReady, api.ConditionFalse, api.ReasonDrifted)
		if c := api.FindCondition(w.status.Conditions, api.ConditionReady); !strings.Contains(c.Message,
			`spec.chart.version is "2.0.0", declared "1.0.0" (field manager kubectl-patch)`) {
			t.Errorf("%s: %s", name, c.Message)
		}
		if !tc.heals && (len(w.status.Differences) != 1 || w.status.Phase != api.DeliveredDrifted) {
			t.Errorf("%s: %+v", name, w.status)
		}
	}
}

// TestANewApplyTakesBack: what others changed is taken back by the next generation too, and where drift is only
// reported by an apply that is forced.
func TestANewApplyTakesBack(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		policy string
		change func(w *world)
		want   bool
	}{
		"the next generation": {"healing would have done it", "", func(w *world) { w.object.Metadata.Generation++ }, true},
		"after a healing that was not done": {"nor was it by its own job", "", func(w *world) {
			w.control(t)
			w.object.Metadata.Generation++
		}, true},
		"reported, the next generation": {"nobody asked for that field", "report",
			func(w *world) { w.object.Metadata.Generation++ }, false},
		"reported, by force": {"tend apply --force asks for it", "report",
			func(w *world) { w.object.Metadata.Stamps = map[string]string{api.StampPull: "n1"} }, true},
		"another resource": {"Tend did not apply it", "",
			func(w *world) { w.report.Live.UID = "k2"; w.object.Metadata.Generation++ }, false},
	} {
		w := readyWorld(t)
		w.known.Spec.Drift = tc.policy
		w.finds(t, changed("kubectl-patch"))
		tc.change(w)
		if w.control(t); w.job.Force != tc.want {
			t.Errorf("%s: %s: force %v, want %v", name, tc.reason, w.job.Force, tc.want)
		}
	}
}

// TestPlanned: a dry run says what is sent, and what the cluster has otherwise.
func TestPlanned(t *testing.T) {
	show := func(w *world) string {
		var lines []string
		d, err := Decide(Input{
			Object: w.object, Job: w.job, Report: w.report, Cluster: w.known, Before: w.status, Now: w.now,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range slices.Concat(d.Actions, d.Ahead) {
			lines = append(lines, action.Verb+": "+action.Text)
		}
		return strings.Join(lines, "\n")
	}
	want := func(when, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", when, got, want)
		}
	}
	want("new", show(newWorld()), "apply: apply generation 1 in cluster east")
	w := readyWorld(t)
	want("as declared", show(w), "")
	w.known.Spec.Drift = api.DriftReport
	w.finds(t, changed("kubectl-patch"))
	w.control(t)
	want("changed, reported", show(w),
		`restore: restore in cluster east: spec.chart.version is "2.0.0", declared "1.0.0" (field manager kubectl-patch); this is reported only`)
	w.known.Spec.Drift = ""
	want("changed", show(w),
		`restore: restore in cluster east: spec.chart.version is "2.0.0", declared "1.0.0" (field manager kubectl-patch)`)
	w.now = w.now.Add(time.Second)
	w.finds(t, pull.State{Missing: true})
	want("missing", show(w), "create: cluster east no longer has it: it was deleted there")
	w.control(t)
	want("being healed", show(w), "apply: apply again: cluster east no longer has it: it was deleted there")
	w.object.Metadata.Generation = 2
	want("changed here", show(w), "apply: apply generation 2 in cluster east")
	w.object.Metadata.DeletedAt = &noon
	want("deleted", show(w), "delete: delete it in cluster east")
}

// TestNothingIsHealed: a deletion is not fought, in Tend or in the cluster; an operation is done once; and what is said
// of an older job, or earlier, counts for nothing.
func TestNothingIsHealed(t *testing.T) {
	t.Run("deleted in Tend", func(t *testing.T) {
		w := readyWorld(t)
		w.object.Metadata.DeletedAt = &noon
		w.control(t)
		w.finds(t, pull.State{Missing: true})
		if w.control(t); w.job.Action != api.ActionDelete || w.job.Heal != nil {
			t.Errorf("%+v", w.job)
		}
	})
	t.Run("deleted in the cluster", func(t *testing.T) {
		w := readyWorld(t)
		job := w.job.ID
		w.finds(t, pull.State{Deleting: true})
		if w.control(t); w.job.ID != job {
			t.Errorf("applied while it goes: %+v", w.job)
		}
		w.wantCondition(t, "going", api.ConditionReady, api.ConditionFalse, api.ReasonTerminating)
		w.now = w.now.Add(time.Second)
		w.finds(t, pull.State{Missing: true})
		if w.control(t); w.job.ID == job {
			t.Error("it is gone, and not applied again")
		}
	})
	t.Run("an older job", func(t *testing.T) {
		w := readyWorld(t)
		old := w.job.Key
		w.object.Metadata.Generation, w.object.Spec = 2, instanceSpec("2.0.0")
		w.settle(t)
		w.event(t, 102, w.now, ready(api.ConditionTrue, "HelmReleaseReady"))
		w.finds(t, pull.State{Key: old, Missing: true})
		w.control(t)
		w.wantCondition(t, "the newer one", api.ConditionReady, api.ConditionTrue, "HelmReleaseReady")
	})
	t.Run("said earlier", func(t *testing.T) {
		w := readyWorld(t)
		w.now = w.now.Add(-time.Second)
		if verdict := w.finds(t, pull.State{Missing: true}); verdict != Repeated {
			t.Errorf("%v", verdict)
		}
	})
	for end, want := range map[string]api.ConditionStatus{"": api.ConditionFalse, "Succeeded": api.ConditionTrue} {
		t.Run("an operation "+end, func(t *testing.T) {
			w := newWorld()
			w.object.Kind, w.object.Spec = api.KindOperation,
				[]byte(`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero"}`)
			w.settle(t)
			if end != "" {
				w.event(t, 101, w.now, []pull.Condition{{Type: end, Status: "True", Reason: "EngineCompleted"}})
			}
			job := w.job.ID
			w.finds(t, pull.State{Missing: true})
			w.control(t)
			if c := api.FindCondition(w.status.Conditions, api.ConditionReady); c.Status != want || w.job.ID != job {
				t.Errorf("%+v, %+v", c, w.job)
			}
		})
	}
}

// TestANamespaceThatIsGone: what can't be applied again is missing, says why, and is tried again with the same key.
func TestANamespaceThatIsGone(t *testing.T) {
	w := readyWorld(t)
	w.finds(t, pull.State{Missing: true})
	w.control(t)
	healing := *w.job
	for attempt := 2; attempt < 4; attempt++ {
		acked, _ := Acknowledge(w.report, *w.job, w.now)
		done, _ := TakeResult(&acked, *w.job,
			pull.Result{Outcome: pull.OutcomeFailed, Error: `namespaces "org" not found`}, w.now)
		w.report = &done
		w.control(t)
		w.wantCondition(t, "failed", api.ConditionReady, api.ConditionFalse, api.ReasonMissing)
		w.wantCondition(t, "failed", api.ConditionDegraded, api.ConditionTrue, api.ReasonDeliveryFailed)
		w.now = w.now.Add(lastRetry)
		if w.control(t); w.job.Attempt != attempt || w.job.Key != healing.Key || w.job.Heal == nil {
			t.Errorf("%+v", w.job)
		}
	}
}
