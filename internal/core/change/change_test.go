package change_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
)

func object(spec string, edit ...func(*api.Metadata)) *api.Object {
	o := &api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: json.RawMessage(spec),
		Metadata: api.Metadata{UID: "u", Generation: 1}}
	for _, e := range edit {
		e(&o.Metadata)
	}
	return o
}

// short returns what events say, a line each.
func short(events []change.Event) (out []string) {
	for _, e := range events {
		text := string(e.Action)
		for _, c := range e.Data.Changes {
			text += fmt.Sprintf(" %s:%s:%s", c.Path, c.Old, c.New)
		}
		for _, c := range e.Data.Conditions {
			text += fmt.Sprintf(" %s=%s/%s(%s)", c.Type, c.Status, c.Reason, c.Message)
		}
		if e.Data.Reason != "" || e.Data.Message != "" {
			text += " because " + e.Data.Reason + ": " + e.Data.Message
		}
		out = append(out, text)
	}
	return out
}

// TestEveryKindHasEvents: whatever the kind, each write of an object is one, with its name; also of a status.
func TestEveryKindHasEvents(t *testing.T) {
	for _, kind := range api.KindsThat(api.Kind.Stored) {
		old := object(`{"a":1}`)
		old.Kind = kind
		next := *old
		next.Spec, next.Metadata.Generation = json.RawMessage(`{"a":2}`), 2
		for action, events := range map[api.EventAction][]change.Event{
			api.EventCreated: change.Object(nil, old), api.EventUpdated: change.Object(old, &next),
			api.EventDeleted:       change.Object(&next, nil),
			api.EventStatusUpdated: change.Status(next, nil, json.RawMessage(`{"observedGeneration":2}`)),
		} {
			if len(events) == 0 || events[0].Action != action || events[0].Data.Ref() != old.Ref() || events[0].Data.UID != "u" {
				t.Errorf("%s: %s makes %+v", kind, action, events)
			}
		}
	}
}

func TestObject(t *testing.T) {
	deleting := func(m *api.Metadata) { at := time.Unix(1, 0); m.DeletedAt = &at }
	tests := map[string]struct {
		reason    string
		old, next *api.Object
		want      []string
	}{
		"Create":  {"a first write creates", nil, object(`{"image":"a"}`), []string{"created"}},
		"Nothing": {"the same again changes nothing", object(`{"image":"a"}`), object(`{"image":"a"}`), nil},
		"Delete":  {"without a finalizer it is gone at once", object(`{}`), nil, []string{"deleted"}},
		"Finalize": {"what was being deleted is finalized too", object(`{}`, deleting), nil,
			[]string{"deleted", "finalized"}},
		"Asked to go": {"the request is a change", object(`{}`), object(`{}`, deleting),
			[]string{"updated metadata.deletedAt::"}},
		"Public value": {"what can't be secret is shown", object(`{"replicas":1,"image":"a:1"}`),
			object(`{"replicas":2,"image":"a:2"}`), []string{`updated spec.image:"a:1":"a:2" spec.replicas:1:2`}},
		"Added block": {"leaf by leaf", object(`{}`), object(`{"resources":{"limits":{"cpu":"1"}}}`),
			[]string{`updated spec.resources.limits.cpu::"1"`}},
		"List": {"a list is one leaf", object(`{"ports":["80"]}`), object(`{"ports":["81","82"]}`),
			[]string{`updated spec.ports:["80"]:["81","82"]`}},
		"Stamp": {"a restart changes no spec", object(`{}`),
			object(`{}`, func(m *api.Metadata) { m.Stamps = map[string]string{"restart": "7"} }),
			[]string{"updated metadata.stamps.restart::"}},
		"Odd key": {"a key with a dot is quoted", object(`{}`), object(`{"labels":{"a.b":"1"}}`),
			[]string{`updated spec.labels["a.b"]::`}},
		"Written only": {"a write without a change of a field is an event", object(`{}`),
			object(`{}`, func(m *api.Metadata) { m.UpdatedAt = time.Unix(9, 0) }), []string{"updated"}},
		"Another": {"the name went to another object", object(`{}`), object(`{}`, func(m *api.Metadata) { m.UID = "v" }),
			[]string{"deleted", "created"}},
	}
	for name, c := range tests {
		if diff := cmp.Diff(c.want, short(change.Object(c.old, c.next))); diff != "" {
			t.Errorf("%s: %s: %s", name, c.reason, diff)
		}
	}
}

func status(generation int64, rollout string, conditions ...api.Condition) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{
		"observedGeneration": generation, "conditions": conditions,
		"rollout": map[string]any{"phase": rollout, "targetRelease": "v1"},
	})
	return raw
}

// counted returns a status with the number of ready pods.
func counted(degraded api.Condition, ready int) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{"observedGeneration": 1, "ready": ready, "conditions": []api.Condition{degraded}})
	return raw
}

func condition(kind string, is api.ConditionStatus, reason, message string) api.Condition {
	return api.Condition{Type: kind, Status: is, Reason: reason, Message: message}
}

func TestStatus(t *testing.T) {
	ready := condition("Ready", "True", "Converged", "1 of 1")
	waiting := condition("Ready", "False", "Progressing", "0 of 1")
	broken := condition("Degraded", "True", "ImageMissing",
		"image web:none is not there\nPASSWORD=hunter2 from https://u:hunter2@host")
	fine := condition("Degraded", "False", "AsExpected", "")
	tests := map[string]struct {
		reason    string
		old, next json.RawMessage
		want      []string
	}{
		"Same": {"an equal status changes nothing", status(1, "complete", ready),
			status(1, "complete", ready), nil},
		"Converged": {"the first Ready is an outcome", status(1, "progressing", waiting), status(1, "complete", ready),
			[]string{`status_updated status.rollout.phase:"progressing":"complete" Ready=True/Converged(1 of 1)`, "reconciled"}},
		"Stays ready": {"other words alone make no event", status(1, "complete", ready),
			status(1, "complete", condition("Ready", "True", "Converged", "2 of 2")), nil},
		"Other words": {"so it is of what a release came to", json.RawMessage(`{"outcomes":{"v8":{"message":"1 exit"}}}`),
			json.RawMessage(`{"outcomes":{"v8":{"message":"2 exits","lastLog":["x"]}}}`), nil},
		"Old generation": {"Ready of an older generation isn't an outcome", nil, status(0, "complete", ready),
			[]string{`status_updated status.observedGeneration::0 status.rollout.phase::"complete" status.rollout.targetRelease::"v1" Ready=True/Converged(1 of 1)`}},
		"Fails": {"a failure is one, with the first line alone", status(1, "progressing", fine),
			status(1, "progressing", broken),
			[]string{"status_updated Degraded=True/ImageMissing(image web:none is not there)",
				"reconciliation.failed because ImageMissing: image web:none is not there"}},
		"Still fails": {"and is one once", status(1, "paused", broken), status(2, "paused", broken),
			[]string{`status_updated status.observedGeneration:1:2`}},
		"Gives up": {"and once more when what was retried is retried no longer", status(1, "progressing", broken),
			status(1, "paused", broken), []string{`status_updated status.rollout.phase:"progressing":"paused"`,
				"reconciliation.failed because ImageMissing: image web:none is not there"}},
		"Crash loop": {"while it stays failed, counts alone are no news", counted(broken, 1), counted(broken, 0), nil},
		"Rollout":    {"else they are", counted(fine, 0), counted(fine, 1), []string{"status_updated status.ready:0:1"}},
		"Ingress": {"a number is shown, whatever its name", json.RawMessage(`{"readyPods":1,"token":"1"}`),
			json.RawMessage(`{"pods":2,"readyPods":2,"token":"2"}`),
			[]string{"status_updated status.pods::2 status.readyPods:1:2 status.token::"}},
		"Lab fails": {"the phase of its own says so", json.RawMessage(`{"phase":"RUNNING"}`),
			json.RawMessage(`{"phase":"FAILED","reason":"Exited","message":"exit code 3\nTOKEN=x"}`),
			[]string{`status_updated status.message:: status.phase:"RUNNING":"FAILED" status.reason::`,
				"reconciliation.failed because Exited: exit code 3"}},
		"Nonsense": {"what can't be read makes an event still", nil, json.RawMessage(`7`),
			[]string{"status_updated status::"}},
	}
	for name, c := range tests {
		if diff := cmp.Diff(c.want, short(change.Status(*object(`{}`), c.old, c.next))); diff != "" {
			t.Errorf("%s: %s: %s", name, c.reason, diff)
		}
	}
}

func TestRunsAreOutcomes(t *testing.T) {
	run := func(id, state string, failed bool) json.RawMessage {
		degraded := condition("Degraded", "False", "AsExpected", "")
		if failed {
			degraded = condition("Degraded", "True", "RunFailed", "run "+id+" failed")
		}
		raw, _ := json.Marshal(map[string]any{"observedGeneration": 1, "lastRun": id, "lastState": state,
			"conditions": []api.Condition{condition("Ready", "True", "Declared", ""), degraded}})
		return raw
	}
	job := *object(`{}`)
	job.Kind = api.KindJob
	steps := []struct {
		next json.RawMessage
		want string
	}{
		{run("r1", "running", false), "reconciled"}, {run("r1", "failed", true), "reconciliation.failed"},
		{run("r2", "running", true), ""},
		{run("r2", "failed", true), "reconciliation.failed"}, {run("r3", "succeeded", false), "reconciled"},
		{run("r4", "running", false), ""},
		{run("r4", "succeeded", false), "reconciled"},
	}
	var old json.RawMessage
	for i, step := range steps {
		got := ""
		if events := change.Status(job, old, step.next); len(events) > 1 {
			got = string(events[1].Action)
		}
		if got != step.want {
			t.Errorf("step %d: the outcome is %q, want %q", i, got, step.want)
		}
		old = step.next
	}
}

// TestTheFirstReleaseOfAnApplicationIsNoOutcome: of an application that an earlier version of Tend delivered, the first
// release is recorded later. It is as well, or as failed, as it was before.
func TestTheFirstReleaseOfAnApplicationIsNoOutcome(t *testing.T) {
	delivered := *object(`{}`)
	delivered.Kind = api.KindApplicationInstance
	for name, condition := range map[string]api.Condition{
		"well": condition("Ready", "True", "HelmReleaseReady", ""), "failed": condition("Degraded", "True", "HelmReleaseFailed", ""),
	} {
		is := api.DeliveredStatus{ObservedGeneration: 1, Conditions: []api.Condition{condition}}
		before, _ := json.Marshal(is)
		is.Release = "v1"
		after, _ := json.Marshal(is)
		if events := change.Status(delivered, before, after); len(events) != 1 || events[0].Action != api.EventStatusUpdated {
			t.Errorf("%s: %v", name, short(events))
		}
		is.Release = "v2"
		if next, _ := json.Marshal(is); len(change.Status(delivered, after, next)) != 2 {
			t.Errorf("%s: the next release has no outcome", name)
		}
	}
}

// TestPrivateKindsShowNothing: an asset's text and a registry's token are in no event.
func TestPrivateKindsShowNothing(t *testing.T) {
	for _, kind := range []api.Kind{api.KindAsset, api.KindRegistry} {
		old, next := object(`{"host":"a","image":"hunter2","files":{"x":"hunter2"},"token":"hunter2"}`),
			object(`{"host":"hunter2","image":"b","files":{"x":"hunter3"}}`)
		old.Kind, next.Kind = kind, kind
		raw, _ := json.Marshal(change.Object(old, next))
		if strings.Contains(string(raw), "hunter") || !strings.Contains(string(raw), "spec.files.x") {
			t.Errorf("%s: %s", kind, raw)
		}
	}
}

// TestALabsEvents say whose it is, where it is and how it ended: who gets them needn't ask.
func TestALabsEvents(t *testing.T) {
	lab := object(`{"owner":"ada@example.org","class":"course","duration":"1h","image":"a"}`)
	lab.Kind = api.KindLab
	created := change.Object(nil, lab)
	if diff := cmp.Diff(&api.EventLab{Owner: "ada@example.org", Class: "course"}, created[0].Data.Lab); diff != "" {
		t.Error(diff)
	}
	end, code := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC), 3
	running := json.RawMessage(`{"phase":"RUNNING","endsAt":"2026-11-28T09:00:00Z","accessUrl":"https://l.example.org"}`)
	failed := json.RawMessage(`{"phase":"FAILED","reason":"Exited","message":"exit code 3","endsAt":"2026-11-28T09:00:00Z","exitCode":3}`)
	want := []*api.EventLab{
		{Owner: "ada@example.org", Class: "course", EndsAt: end, AccessURL: "https://l.example.org"},
		{Owner: "ada@example.org", Class: "course", EndsAt: end, ExitCode: &code},
	}
	for i, events := range [][]change.Event{change.Status(*lab, nil, running), change.Status(*lab, running, failed)} {
		for _, e := range events {
			if diff := cmp.Diff(want[i], e.Data.Lab); diff != "" {
				t.Errorf("%s: %s", e.Action, diff)
			}
		}
	}
	if other := change.Object(nil, object(`{}`)); other[0].Data.Lab != nil {
		t.Errorf("a deployment: %+v", other[0].Data.Lab)
	}
}
