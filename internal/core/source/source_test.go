package source

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

var (
	web   = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	fault = NewFault(api.ReasonFieldOwned, "leave it out", "replicas is apply's")
)

func TestApply(t *testing.T) {
	good, bad := &Applied{Revision: "r1"}, &Applied{Revision: "r1", Fault: fault}
	for name, tc := range map[string]struct {
		reason string
		state  State
		want   bool
	}{
		"not polled":   {"nothing is known of the source", State{}, false},
		"first":        {"it was never applied in this process", State{Polls: 1, Revision: "r1"}, true},
		"under way":    {"one apply at a time", State{Polls: 1, Revision: "r1", Applying: true}, false},
		"applied":      {"nothing is to be done", State{Polls: 5, Revision: "r1", Applied: good, AppliedPoll: 1}, false},
		"new revision": {"it is to be applied", State{Polls: 2, Revision: "r2", Applied: good, AppliedPoll: 1}, true},
		"drifted": {"what a user deleted is made again",
			State{Polls: 1, Revision: "r1", Applied: good, AppliedPoll: 1, Drifted: true}, true},
		"failed": {"the next try is after the next poll, not at once",
			State{Polls: 1, Revision: "r1", Applied: bad, AppliedPoll: 1}, false},
		"failed, polled": {"the cause may be gone", State{Polls: 2, Revision: "r1", Applied: bad, AppliedPoll: 1}, true},
		"unreachable": {"a drift waits until the source is there",
			State{Polls: 2, Revision: "r1", PollFault: fault, Applied: good, AppliedPoll: 1, Drifted: true}, false},
		"changed in apply": {"the folder changed between poll and apply: the next poll says what it has",
			State{Polls: 1, Revision: "r1", Applied: &Applied{Revision: "r2"}, AppliedPoll: 1}, false},
		"changed, polled": {"it is still another one",
			State{Polls: 2, Revision: "r1", Applied: &Applied{Revision: "r2"}, AppliedPoll: 1}, true},
		"failed and drifts": {"a drift makes no try come earlier",
			State{Polls: 1, Revision: "r1", Applied: bad, AppliedPoll: 1, Drifted: true}, false},
	} {
		if got := tc.state.Apply(); got != tc.want {
			t.Errorf("%s: %s: %v", name, tc.reason, got)
		}
	}
}

// TestStatus follows a sync through its life. A state that says nothing new leaves the status as it is.
func TestStatus(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	object := api.Object{Kind: api.KindSync, Name: "shop",
		Spec: []byte(`{"http":"https://me:s3cret@example.org/a?token=s3cret"}`)}
	object.Metadata.Generation = 3
	all := map[api.Ref]int64{web: 7}
	created := []api.SyncChange{{Object: web, Action: "created"}}
	many := make([]api.SyncChange, api.MaxSyncChanges)
	var status api.SyncStatus
	for i, step := range []struct {
		what  string
		state State
		want  string
	}{
		{"declared", State{}, "Unknown Fetching  fetched= changes=0+0 at="},
		{"unreachable", State{Polls: 1, PollFault: NewFault(api.ReasonFetchFailed, "see", "no route")},
			"False FetchFailed  fetched= changes=0+0 at="},
		{"refused", State{Polls: 2, Revision: "r1", Applied: &Applied{Revision: "r1", Fault: fault}},
			"False FieldOwned  fetched=r1 changes=0+0 at="},
		{"applied", State{Polls: 3, Applied: &Applied{Revision: "r1", At: began.Add(3), Objects: all, Changes: created,
			Committed: 11}},
			"True Applied r1 fetched= changes=1+0 at=3"},
		{"again", State{Polls: 4, Applied: &Applied{Revision: "r1", At: began.Add(4), Objects: all}},
			"True Applied r1 fetched= changes=1+0 at=3"},
		{"repaired", State{Polls: 5, Applied: &Applied{Revision: "r1", At: began.Add(5), Objects: all, Changes: many, More: 2,
			Committed: 12}},
			"True Applied r1 fetched= changes=50+2 at=5"},
		{"away", State{Polls: 6, PollFault: NewFault(api.ReasonFetchFailed, "see", "no route"),
			Applied: &Applied{Revision: "r1"}}, "False FetchFailed r1 fetched= changes=50+2 at=5"},
		{"restarted", State{}, "False FetchFailed r1 fetched= changes=50+2 at=5"},
		{"next revision", State{Polls: 1, Applied: &Applied{Revision: "r2", At: began.Add(8), Objects: all}},
			"True Applied r2 fetched= changes=0+0 at=8"},
		{"broken", State{Polls: 2, Applied: &Applied{Revision: "r3", Fault: fault}},
			"False FieldOwned r2 fetched=r3 changes=0+0 at=8"},
	} {
		status = step.state.Status(object, 9, status, began.Add(time.Duration(i)))
		at := ""
		if !status.AppliedAt.IsZero() {
			at = fmt.Sprint(int(status.AppliedAt.Sub(began)))
		}
		ready := api.FindCondition(status.Conditions, api.ConditionReady)
		got := fmt.Sprintf("%s %s %s fetched=%s changes=%d+%d at=%s", ready.Status, ready.Reason, status.Revision,
			status.Fetched, len(status.Changes), status.More, at)
		if got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
		if strings.Contains(fmt.Sprint(status), "s3cret") {
			t.Errorf("%s: a secret is shown: %v", step.what, status)
		}
		if again := step.state.Status(object, 9, status, began.Add(time.Hour)); !cmp.Equal(again, status) {
			t.Errorf("%s: the same state writes again: %s", step.what, cmp.Diff(status, again))
		}
	}
	if status.ObservedGeneration != 3 || status.ObservedRevision != 9 ||
		status.Source != "http https://xxxxx@example.org/a?…" {
		t.Errorf("%+v", status)
	}
}

func TestShort(t *testing.T) {
	for revision, want := range map[string]string{
		strings.Repeat("a", 40): "aaaaaaaaaaaa", "sha256:" +
			strings.Repeat("b", 64): "sha256:bbbbbbbbbbbb", "v1": "v1", "": "",
	} {
		if got := Short(revision); got != want {
			t.Errorf("%q: %q", revision, got)
		}
	}
}

// TestAnApplyEndsTheWaitOfWhatWasFetched: what was fetched and refused before is no longer waiting once an apply has
// ended well, also one whose sync was changed meanwhile.
func TestAnApplyEndsTheWaitOfWhatWasFetched(t *testing.T) {
	failed := api.SyncStatus{Revision: "a", Fetched: "b", ChangedRevision: 5}
	changes := []api.SyncChange{{Action: "configured"}}
	for name, test := range map[string]struct {
		applied           Applied
		revision, fetched string
	}{
		"it is applied now":         {Applied{Revision: "b", Changes: changes, Committed: 7}, "b", ""},
		"the status has it already": {Applied{Revision: "c", Changes: changes, Committed: 5}, "a", "b"},
		"the one before is, again":  {Applied{Revision: "a"}, "a", ""},
		"it is refused once more":   {Applied{Revision: "b", Fault: &Error{}}, "a", "b"},
		"another one that is newer": {Applied{Revision: "c"}, "c", ""},
	} {
		if got := test.applied.Into(failed); got.Revision != test.revision || got.Fetched != test.fetched {
			t.Errorf("%s: revision %q, fetched %q", name, got.Revision, got.Fetched)
		}
	}
}
