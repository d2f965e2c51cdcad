package boundary

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

var present = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestTime(t *testing.T) {
	for text, want := range map[string]bool{
		"2026-05-01T11:00:00Z": true, "1970-01-01T00:00:00Z": true, "0001-01-01T00:00:00Z": true,
		"2026-05-01T12:59:00Z":      true,
		"2026-05-01T14:30:00+02:00": true, "2026-05-01T13:01:00Z": false, "9999-12-31T23:59:59-12:00": false,
		"9999-01-01T00:00:00Z": false, "0000-01-01T00:00:00+14:00": false, "1969-12-31T23:59:59Z": false,
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Time(at, present); got.Equal(at) != want || !want && got != present {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestTimes: wherever a time stands in a report, and what the caller has stays as it is.
func TestTimes(t *testing.T) {
	wild, err := time.Parse(time.RFC3339, "9999-12-31T23:59:59-12:00")
	if err != nil {
		t.Fatal(err)
	}
	fill := func(at time.Time) node.Report {
		code := 1
		return node.Report{
			Tasks: []api.TaskStatus{{
				ID: "a", State: api.TaskFailed, ExitCode: &code, LastLog: []string{"x"}, Exits: []time.Time{at, at},
				LivenessRestarts: []time.Time{at},
				CreatedAt:        at, StartedAt: at, RunningAt: at, ReadyAt: at, FinishedAt: at,
				Probes: map[string]api.ProbeStatus{"liveness": {Since: at}}, Inits: &api.InitProgress{StartedAt: at, RetryAt: at},
			}},
			Forget: []string{"b"}, Images: []api.ImageStatus{{RetryAt: at, UpdatedAt: at}}, ForgetImages: []api.Ref{{Name: "c"}},
			Node: &api.NodeStatus{StartedAt: at, Conditions: []api.Condition{{Type: "Ready", LastTransitionTime: at}}},
		}
	}
	report := fill(wild)
	got := Times(report, present)
	if want := fill(present); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !reflect.DeepEqual(report, fill(wild)) {
		t.Error("the report itself was changed")
	}
	if honest := fill(present.Add(-time.Hour)); !reflect.DeepEqual(Times(honest, present), honest) {
		t.Error("an honest report was changed")
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	if empty := Times(node.Report{}, present); !reflect.DeepEqual(empty, node.Report{}) {
		t.Errorf("an empty report became %+v", empty)
	}
}

// TestNoTaskEndsBeforeItStarts: else its run would last less than nothing.
func TestNoTaskEndsBeforeItStarts(t *testing.T) {
	for finished, want := range map[time.Time]time.Time{
		time.Unix(0, 0).UTC(): present, time.Unix(math.MaxInt32, 0).UTC(): present,
		present.Add(time.Second): present.Add(time.Second), {}: {},
	} {
		got := Times(node.Report{Tasks: []api.TaskStatus{{StartedAt: present, FinishedAt: finished}}},
			present).Tasks[0].FinishedAt
		if !got.Equal(want) {
			t.Errorf("%s became %s, want %s", finished, got, want)
		}
	}
}
