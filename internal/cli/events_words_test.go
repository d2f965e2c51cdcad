package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
)

// internalWord matches what is written for programs: names of fields, of reasons and of phases.
var internalWord = regexp.MustCompile(`[a-z][A-Z]|_|\bstatus\b|\bmetadata\b|\bnot active\b|\bstatus changed\b`)

// statuses are the statuses that are stored, by a kind that has them.
var statuses = map[api.Kind]any{
	api.KindDeployment: api.WorkloadStatus{}, api.KindIngress: api.IngressStatus{}, api.KindCronJob: api.JobStatus{},
	api.KindLab: api.LabStatus{}, api.KindSync: api.SyncStatus{}, api.KindSink: api.SinkStatus{},
	api.KindCluster: api.ClusterStatus{}, api.KindApplicationInstance: api.DeliveredStatus{},
	api.KindNetwork: api.NetworkStatus{},
}

// TestEventsAreSentences: whatever field of a status changes, and whatever condition, the event says it in words.
func TestEventsAreSentences(t *testing.T) {
	check := func(what string, e change.Event) {
		t.Helper()
		data, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		event := api.Event{Type: api.EventType(e.Data.Kind, e.Action), Data: data}
		if said := whatHappened(event, eventData(event)); said == "" || internalWord.MatchString(said) {
			t.Errorf("%s: %s: an event says %q", e.Data.Kind, what, said)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(statuses)) {
		object := api.Object{Kind: kind, Scope: "prod", Name: "web", Spec: []byte(`{}`)}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(statuses[kind])) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "conditions" {
				continue
			}
			for _, pair := range [][2]string{{`{}`, `{"` + name + `":` + example(field.Type, 1) + `}`},
				{`{"` + name + `":` + example(field.Type, 1) + `}`, `{"` + name + `":` + example(field.Type, 2) + `}`}} {
				for _, e := range change.Status(object, json.RawMessage(pair[0]), json.RawMessage(pair[1])) {
					check(name, e)
				}
			}
		}
		for _, condition := range []string{"Ready", "Progressing", "Degraded", "AfterRollout", "Active", "Missed",
			"ClockBehind", "Delivered", "Connected", "ControllersHealthy"} {
			for _, status := range []string{"True", "False", "Unknown"} {
				for _, reason := range []string{"Idle", "AsExpected", "CrashLoop", "OOMKilled"} {
					next := `{"phase":"RUNNING","conditions":[{"type":"` + condition + `","status":"` + status + `","reason":"` +
						reason + `"}]}`
					for _, e := range change.Status(object, nil, json.RawMessage(next)) {
						check(condition+" "+status+" "+reason, e)
					}
				}
			}
		}
	}
	down := api.NodeState{State: api.NodeUp, Reason: "EngineUnavailable", Version: "1"}
	for _, next := range []api.NodeState{
		{State: api.NodeUp, Ready: true, Version: "1"}, {State: api.NodeLost}, {State: api.NodeSilent},
	} {
		for _, e := range append(append(change.Node("n1", &down, &next), change.Node("n1", &next, &down)...),
			change.Node("n1", nil, &down)...) {
			check("a node", e)
		}
	}
	before := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: []byte(`{}`)}
	deleted := before
	now := time.Unix(1, 0)
	deleted.Metadata = api.Metadata{DeletedAt: &now, Finalizers: []string{"x"}, Owners: []api.Ref{before.Ref()},
		Labels: map[string]string{"tier": "front"}, Annotations: map[string]string{"note": "n"}}
	for _, e := range change.Object(&before, &deleted) {
		check("metadata", e)
	}
}

// example returns a value of a type, one of two, with all of its fields.
func example(of reflect.Type, which int) string {
	switch of.Kind() {
	case reflect.Pointer:
		return example(of.Elem(), which)
	case reflect.Bool:
		return map[int]string{1: "true", 2: "false"}[which]
	case reflect.Int, reflect.Int64, reflect.Float64:
		return map[int]string{1: "1", 2: "2"}[which]
	case reflect.String:
		return map[int]string{1: `"one"`, 2: `"two"`}[which]
	case reflect.Slice:
		return "[" + example(of.Elem(), which) + "]"
	case reflect.Map:
		return `{"key":` + example(of.Elem(), which) + `}`
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return map[int]string{1: `"2026-01-01T00:00:00Z"`, 2: `"2026-01-02T00:00:00Z"`}[which]
		}
		var fields []string
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				fields = append(fields, `"`+name+`":`+example(field.Type, which))
			}
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	return `"x"`
}

// TestARolloutBeginsOnce: pods that come up during a rollout are counted, and its beginning is said once.
func TestARolloutBeginsOnce(t *testing.T) {
	object := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: []byte(`{}`)}
	status := func(release, phase string, ready, updated int) json.RawMessage {
		raw, err := json.Marshal(api.WorkloadStatus{Replicas: 3, Running: 3, Ready: ready, Updated: updated, Release: release,
			Rollout: &api.RolloutStatus{Phase: api.RolloutPhase(phase), TargetRelease: release, Replicas: 3}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	var said []string
	var last json.RawMessage
	for _, next := range []json.RawMessage{
		json.RawMessage(`{"replicas":3}`), status("v1", "progressing", 0, 0), status("v1", "progressing", 1, 0), status("v1", "progressing", 2, 1),
		status("v1", "complete", 3, 3), status("v2", "progressing", 3, 0), status("v2", "progressing", 3, 1),
		status("v3", "progressing", 3, 0), status("v3", "progressing", 3, 2),
	} {
		for _, e := range change.Status(object, last, next) {
			said = append(said, statusText(e.Data))
		}
		last = next
	}
	want := []string{
		"wanted pods = 3", "rollout begins", "ready pods 0 → 1", "ready pods 1 → 2, updated pods 0 → 1", "rollout complete",
		"v1 → v2, rollout begins", "updated pods 0 → 1", "v2 → v3, rollout begins", "updated pods 0 → 2",
	}
	if !slices.Equal(said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
}

// TestDescribeKeepsTheLastApply: however often pods were counted since, and whatever else happened.
func TestDescribeKeepsTheLastApply(t *testing.T) {
	event := func(action api.EventAction, d api.EventData) api.Event {
		d.Kind = api.KindDeployment
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return api.Event{Type: api.EventType(d.Kind, action), Data: data}
	}
	counts := event(api.EventStatusUpdated, api.EventData{Phase: "progressing", Changes: []api.EventChange{{Path: "status.ready"}}})
	begins := event(api.EventStatusUpdated, api.EventData{OldPhase: "complete", Phase: "progressing"})
	apply := event(api.EventUpdated, api.EventData{Verb: "apply"})
	all := append([]api.Event{apply, begins}, slices.Repeat([]api.Event{counts}, 20)...)
	if got := withoutRepeats(all); len(got) != 3 || got[0].Type != apply.Type {
		t.Errorf("%d events are left, want the apply, the beginning and the last count", len(got))
	}
	if got := withoutRepeats([]api.Event{counts, begins, counts}); len(got) != 3 {
		t.Errorf("%d are left of three that don't repeat each other", len(got))
	}
	degraded := event(api.EventStatusUpdated, api.EventData{Conditions: []api.EventCondition{{Type: api.ConditionReady}}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := api.EventPage{Events: slices.Repeat([]api.Event{degraded}, 50)}
		if types := r.URL.Query()["type"]; len(types) > 0 {
			page.Events = []api.Event{apply, event(api.EventUpdated, api.EventData{Verb: "scale"})}
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	c, err := (&app{server: server.URL}).dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := newestEvents(t.Context(), c, api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"})
	if len(got) != 9 || eventData(got[0]).Verb != "apply" {
		t.Errorf("%d events, the first by %q: want the last apply before the newest 8", len(got), eventData(got[0]).Verb)
	}
}

// TestEventsSayACauseOnce: conditions with one reason, or with that of the phase, say it once.
func TestEventsSayACauseOnce(t *testing.T) {
	both := func(reason string) []api.EventCondition {
		return []api.EventCondition{{Type: api.ConditionReady, Status: api.ConditionFalse, Reason: reason},
			{Type: api.ConditionProgressing, Status: api.ConditionTrue, Reason: reason}}
	}
	begins := []api.EventChange{{Path: "status.rollout.phase", New: json.RawMessage(`"progressing"`)}}
	for want, d := range map[string]api.EventData{
		"not ready: resolving image": {Conditions: both("ResolvingImage")},
		"rollout begins, not ready":  {Phase: "progressing", Changes: begins, Conditions: both("Progressing")},
		"nothing is under way": {Phase: "complete", Conditions: []api.EventCondition{{Type: api.ConditionProgressing,
			OldStatus: api.ConditionTrue, Status: api.ConditionFalse, Reason: "Complete"}}},
		"ready": {Conditions: []api.EventCondition{ // a new object
			{Type: api.ConditionReady, Status: api.ConditionTrue},
			{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: "Complete"},
			{Type: "Missed", Status: api.ConditionFalse}, {Type: "ClockBehind", Status: api.ConditionFalse}}},
		"going on": {Phase: "progressing", Conditions: both("Progressing")[1:]},
	} {
		d.Kind = api.KindDeployment
		if got := statusText(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
