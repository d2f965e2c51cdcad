package change_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
)

// writes are the events of writes, in their order.
type writes struct {
	events []api.Event
	object *api.Object
	status json.RawMessage
}

func (w *writes) add(events []change.Event) {
	for _, e := range events {
		raw, _ := json.Marshal(e.Data)
		w.events = append(w.events, api.Event{Type: api.EventType(e.Data.Kind, e.Action),
			Time: time.Unix(int64(len(w.events)), 0), Data: raw})
	}
}

// declare writes the object; a spec that differs makes a generation.
func (w *writes) declare(spec string, stamps ...string) *writes {
	next := object(spec)
	if w.object != nil {
		next.Metadata = w.object.Metadata
		if string(w.object.Spec) != spec {
			next.Metadata.Generation++
		}
	}
	next.Metadata.UpdatedAt = time.Unix(int64(len(w.events)), 0)
	if len(stamps) > 0 {
		next.Metadata.Stamps = map[string]string{stamps[0]: stamps[1]}
	}
	w.add(change.Object(w.object, next))
	w.object = next
	return w
}

// observes writes a status about the object as it is.
func (w *writes) observes(phase api.RolloutPhase, release string, revision int) *writes {
	done := phase == api.RolloutComplete
	is := map[bool]api.ConditionStatus{true: api.ConditionTrue, false: api.ConditionFalse}
	next, _ := json.Marshal(map[string]any{
		"observedGeneration": w.object.Metadata.Generation, "observedRevision": revision, "release": release,
		"rollout":    map[string]any{"phase": phase, "targetRelease": release},
		"conditions": []api.Condition{condition("Ready", is[done], "R", ""), condition("Progressing", is[!done], "P", "")},
	})
	w.add(change.Status(*w.object, w.status, next))
	w.status = next
	return w
}

// pulls writes a status while the image of a newer release is looked for: the rollout in force is complete.
func (w *writes) pulls(revision int) *writes {
	next, _ := json.Marshal(map[string]any{
		"observedGeneration": w.object.Metadata.Generation, "observedRevision": revision, "release": "v1",
		"rollout": map[string]any{"phase": api.RolloutComplete, "targetRelease": "v1"},
		"conditions": []api.Condition{condition("Ready", "False", "Pulling", ""),
			condition("Progressing", "True", "Pulling", "")},
	})
	w.add(change.Status(*w.object, w.status, next))
	w.status = next
	return w
}

// deletes asks for the deletion; finalizers are at work then.
func (w *writes) deletes() *writes {
	next := *w.object
	at := time.Unix(int64(len(w.events)), 0)
	next.Metadata.DeletedAt = &at
	w.add(change.Object(w.object, &next))
	w.object = &next
	return w
}

func (w *writes) gone() *writes {
	w.add(change.Object(w.object, nil))
	return w
}

// TestWhatBecameOfAChange: no change is under way for ever.
func TestWhatBecameOfAChange(t *testing.T) {
	begun := func() *writes {
		return new(writes).declare(`{"image":"a:1"}`).observes(api.RolloutProgressing, "v1", 1).
			observes(api.RolloutComplete, "v1", 1)
	}
	for name, tc := range map[string]struct {
		reason string
		of     *writes
		want   string // of each change: its fate, or its outcome
	}{
		"done": {"it has its outcome", begun(), "worked"},
		"under way": {"the newest may still come",
			begun().declare(`{"image":"a:2"}`).observes(api.RolloutProgressing, "v2", 2), "worked under-way"},
		"just written": {"nobody has observed it yet", begun().declare(`{"image":"a:2"}`), "worked under-way"},
		"superseded": {"another image came first",
			begun().declare(`{"image":"a:2"}`).observes(api.RolloutProgressing, "v2", 2).declare(`{"image":"a:3"}`).
				observes(api.RolloutProgressing, "v3", 3).observes(api.RolloutComplete, "v3", 3),
			"worked superseded worked"},
		"superseded by a pull": {"its image was being looked for",
			begun().declare(`{"image":"a:2"}`).pulls(2).pulls(3).declare(`{"image":"a:3"}`).observes(api.RolloutProgressing,
				"v3", 4).observes(api.RolloutComplete, "v3", 4),
			"worked superseded worked"},
		"joined": {"the count changed meanwhile, and both are done",
			begun().declare(`{"image":"a:2"}`).observes(api.RolloutProgressing, "v2", 2).declare(`{"image":"a:2","replicas":2}`).
				observes(api.RolloutProgressing, "v2", 3).observes(api.RolloutComplete, "v2", 3),
			"worked joined worked"},
		"no restart": {"config that waits for the next release",
			begun().declare(`{"image":"a:1"}`, api.StampQuietEnv, "h").observes(api.RolloutComplete, "v1", 2), "worked quiet"},
		"nothing to do": {"only a note of Tend's changed",
			begun().declare(`{"image":"a:1"}`, api.StampApplySet, "s").observes(api.RolloutComplete, "v1", 2),
			"worked unchanged"},
		"deleted":  {"it went before it was done", begun().declare(`{"image":"a:2"}`).gone(), "worked deleted -"},
		"deletion": {"its outcome is that the object is gone", begun().deletes().gone(), "worked - worked"},
	} {
		var got []string
		for _, c := range change.History(tc.of.events) {
			text := string(c.Fate)
			for _, o := range c.Outcomes {
				text += map[bool]string{true: "failed", false: "worked"}[o.Failed]
			}
			if text == "" {
				text = "-"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s:\n%s", name, tc.reason, diff)
		}
	}
}

// TestARevisionOfHelmIsOfItsRelease: it may be reported after the outcome. A later revision without a change, and that
// of the next release, don't count.
func TestARevisionOfHelmIsOfItsRelease(t *testing.T) {
	w := new(writes).declare(`{}`)
	w.object.Kind = api.KindApplicationInstance
	is := api.DeliveredStatus{ObservedGeneration: 1, Conditions: []api.Condition{condition("Ready", "True", "R", "")}}
	write := func(release string, revisions map[string]int64) {
		is.Release, is.Outcomes = release, map[string]api.ReleaseOutcome{}
		for id, number := range revisions {
			is.Outcomes[id] = api.ReleaseOutcome{Good: true, HelmRevision: number}
		}
		next, _ := json.Marshal(is)
		w.add(change.Status(*w.object, w.status, next))
		w.status = next
	}
	write("v1", map[string]int64{"v1": 0})
	write("v1", map[string]int64{"v1": 3})
	write("v1", map[string]int64{"v1": 4})
	write("v2", map[string]int64{"v1": 4, "v2": 5})
	var got []int64
	for _, c := range change.History(w.events) {
		for _, o := range c.Outcomes {
			got = append(got, o.HelmRevision)
		}
	}
	if want := []int64{3, 5}; !slices.Equal(got, want) {
		t.Errorf("revisions %v, want %v", got, want)
	}
}

// TestTheApplyThatMendsAJobWorked: while the run of the new release is on, the status still says that the one before
// failed.
func TestTheApplyThatMendsAJobWorked(t *testing.T) {
	w := new(writes).declare(`{"image":"a:1"}`)
	w.object.Kind = api.KindJob
	step := func(release, run, state string, failed bool) {
		degraded := condition("Degraded", "False", "AsExpected", "")
		if failed {
			degraded = condition("Degraded", "True", "RunFailed", "run v1-run failed")
		}
		is := map[bool]api.ConditionStatus{true: api.ConditionTrue, false: api.ConditionFalse}
		next, _ := json.Marshal(map[string]any{
			"observedGeneration": w.object.Metadata.Generation, "release": release, "lastRun": run, "lastState": state,
			"conditions": []api.Condition{condition("Ready", "True", "Declared", ""),
				condition("Progressing", is[state == "running"], "P", ""), degraded},
		})
		w.add(change.Status(*w.object, w.status, next))
		w.status = next
	}
	step("v1", "v1-run", "running", false)
	step("v1", "v1-run", "failed", true)
	before := *w.object
	next := before
	next.Spec, next.Metadata.Generation = json.RawMessage(`{"image":"a:2"}`), 2
	w.add(change.Object(&before, &next))
	w.object = &next
	step("v2", "v2-run", "running", true)
	step("v2", "v2-run", "succeeded", false)
	all := change.History(w.events)
	if len(all) != 2 || len(all[0].Outcomes) != 1 || !all[0].Outcomes[0].Failed {
		t.Fatalf("%+v", all)
	}
	if fixed := all[1]; len(fixed.Outcomes) != 1 || fixed.Outcomes[0].Failed || fixed.Release != "v2" {
		t.Errorf("the apply that mends it: %+v", fixed)
	}
}

// TestARolledBackChangeKeepsItsRelease: that the rollout went back to the one before makes it no change of that
// release.
func TestARolledBackChangeKeepsItsRelease(t *testing.T) {
	w := new(writes).declare(`{"image":"a:1"}`).observes(api.RolloutProgressing, "v1", 1).
		observes(api.RolloutComplete, "v1", 1)
	w.declare(`{"image":"a:2"}`).observes(api.RolloutProgressing, "v2", 2).observes(api.RolloutRollingBack, "v2", 2)
	w.observes(api.RolloutRollingBack, "v1", 2).observes(api.RolloutRolledBack, "v1", 2)
	all := change.History(w.events)
	if len(all) != 2 || all[0].Release != "v1" || all[1].Release != "v2" {
		t.Errorf("%+v", all)
	}
}

// TestAChangeOfAJobWaitsForItsRun: what mends a failed job isn't under way until the job runs.
func TestAChangeOfAJobWaitsForItsRun(t *testing.T) {
	event := func(action api.EventAction, data api.EventData) api.Event {
		data.Kind = api.KindJob
		raw, _ := json.Marshal(data)
		return api.Event{Type: api.EventType(data.Kind, action), Data: raw}
	}
	events := []api.Event{
		event(api.EventCreated, api.EventData{Generation: 1}),
		event(api.EventFailed, api.EventData{ObservedGeneration: 1, Phase: string(api.RunFailed)}),
		event(api.EventUpdated, api.EventData{Generation: 2}),
		event(api.EventStatusUpdated, api.EventData{ObservedGeneration: 2, Phase: string(api.RunFailed), Release: "v2"}),
	}
	last := func() change.Fate { all := change.History(events); return all[len(all)-1].Fate }
	if got := last(); got != change.FateNextRun {
		t.Errorf("before its run: %q", got)
	}
	events = append(events, event(api.EventStatusUpdated,
		api.EventData{ObservedGeneration: 2, Phase: string(api.RunRunning)}))
	if got := last(); got != change.FateUnderWay {
		t.Errorf("while it runs: %q", got)
	}
	events = append(events, event(api.EventReconciled,
		api.EventData{ObservedGeneration: 2, Phase: string(api.RunSucceeded)}))
	if got := last(); got != "" {
		t.Errorf("after it: %q", got)
	}
}

// TestTheReleaseOfAMovedTag: the release that follows a moved tag is that of its outcome, not of the change
// that was done long before.
func TestTheReleaseOfAMovedTag(t *testing.T) {
	w := (&writes{}).declare(`{"image":"web"}`).observes(api.RolloutComplete, "v1", 1).
		observes(api.RolloutProgressing, "v2", 2).observes(api.RolloutComplete, "v2", 3)
	all := change.History(w.events)
	if len(all) != 1 || all[0].Release != "v1" || len(all[0].Outcomes) != 2 || all[0].Outcomes[1].Release != "v2" {
		t.Errorf("%+v", all)
	}
}

// TestAFailureThatIsStillTriedIsNoEnd: while the rollout goes on, a failure is one that Tend retries. It is an end once
// the rollout is paused, even for the same reason, and no longer what happens now once something else followed.
func TestAFailureThatIsStillTriedIsNoEnd(t *testing.T) {
	troubled := func(w *writes, phase api.RolloutPhase, others ...api.Condition) {
		next, _ := json.Marshal(map[string]any{"observedGeneration": w.object.Metadata.Generation, "release": "v1",
			"rollout": map[string]any{"phase": phase, "targetRelease": "v1", "reason": "EngineError", "message": "odd"},
			"conditions": append(others, condition("Ready", "False", "EngineError", "odd"),
				condition("Degraded", "True", "EngineError", "odd"))})
		w.add(change.Status(*w.object, w.status, next))
		w.status = next
	}
	for name, tc := range map[string]struct {
		then func(w *writes)
		want []bool
	}{
		"still tried": {func(*writes) {}, []bool{true}},
		"tried on": {func(w *writes) {
			troubled(w, api.RolloutProgressing, condition("Progressing", "True", "RollingOut", ""))
		}, []bool{true}},
		"a pod paused by hand": {func(w *writes) {
			troubled(w, api.RolloutProgressing, condition("Progressing", "False", "Paused", ""))
		}, []bool{false}},
		"paused":        {func(w *writes) { troubled(w, api.RolloutPaused) }, []bool{false}},
		"turned back":   {func(w *writes) { troubled(w, api.RolloutRollingBack) }, []bool{false}},
		"went away":     {func(w *writes) { w.observes(api.RolloutComplete, "v1", 2) }, []bool{false, false}},
		"other changes": {func(w *writes) { w.declare(`{"image":"b"}`) }, []bool{false}},
	} {
		w := (&writes{}).declare(`{"image":"a"}`)
		troubled(w, api.RolloutProgressing)
		tc.then(w)
		var got []bool
		for _, c := range change.History(w.events) {
			for _, o := range c.Outcomes {
				got = append(got, o.Trying)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
