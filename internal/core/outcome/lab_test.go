package outcome

import (
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestALabsOutcome: an apply of a lab ends once it runs or waits for its instant, and also when it can only wait: for
// room, or for a correction.
func TestALabsOutcome(t *testing.T) {
	ref := api.Ref{Kind: api.KindLab, Scope: "school", Name: "linux"}
	conditions := func(ready, progressing, degraded string) []api.Condition {
		condition := func(kind, text string) api.Condition {
			status, reason, _ := strings.Cut(text, " ")
			c := api.Condition{Type: kind, Status: api.ConditionStatus(status), Reason: reason}
			if c.Status == api.ConditionTrue {
				c.Message, c.Next = "because of "+reason, "help it"
			}
			return c
		}
		return []api.Condition{condition(api.ConditionReady, ready), condition(api.ConditionProgressing, progressing),
			condition(api.ConditionDegraded, degraded)}
	}
	for name, c := range map[string]struct {
		reason   string
		status   api.LabStatus
		want     api.OutcomeState
		contains string
	}{
		"scheduled": {"its instant has not come", api.LabStatus{Conditions: conditions("False Scheduled",
			"False Scheduled", "False AsExpected")}, api.OutcomeConverged, ""},
		"runs": {"as was asked for", api.LabStatus{Conditions: conditions("True Running",
			"False Complete", "False AsExpected")}, api.OutcomeConverged, ""},
		"made": {"a node makes it", api.LabStatus{Conditions: conditions("False Provisioning", "True Provisioning",
			"False AsExpected")}, api.OutcomePending, ""},
		"tried": {"the next container may start", api.LabStatus{Failures: 2,
			Conditions: conditions("False ProvisioningFailed", "True ProvisioningFailed", "True ProvisioningFailed")},
			api.OutcomePending, ""},
		"tried often": {"it needs a correction; Tend goes on trying",
			api.LabStatus{Failures: 3, Conditions: conditions("False ProvisioningFailed", "False ProvisioningFailed",
				"True ProvisioningFailed")},
			api.OutcomeFailed, "because of ProvisioningFailed"},
		"no room yet": {"a node may be about to connect",
			api.LabStatus{Conditions: conditions("False NoNode", "True NoNode", "True NoNode")}, api.OutcomePending,
			""},
		"no room": {"others must end first", api.LabStatus{Conditions: conditions("False NoNode", "False NoNode",
			"True NoNode")},
			api.OutcomeHeld, "it waits for room: because of NoNode"},
		"no image": {"it needs a correction", api.LabStatus{Conditions: conditions("False ImageNotFound",
			"False ImageNotFound", "True ImageNotFound")}, api.OutcomeFailed, "because of ImageNotFound"},
		"failed": {"it is over", api.LabStatus{Phase: api.LabFailed,
			Conditions: conditions("False Exited", "False Complete", "True LabFailed")}, api.OutcomeFailed,
			"because of LabFailed"},
		"over": {"its time was over", api.LabStatus{Phase: api.LabTimeout,
			Conditions: conditions("False TimedOut", "False Complete", "False AsExpected")}, api.OutcomeConverged, ""},
		"runs after it": {"what failed before it ran is over",
			api.LabStatus{Failures: 9, Conditions: conditions("True Running", "False Complete", "False AsExpected")},
			api.OutcomeConverged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.status.ObservedRevision = 10
			raw, err := json.Marshal(c.status)
			if err != nil {
				t.Fatal(err)
			}
			object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Metadata: api.Metadata{Revision: 10},
				Status: raw}
			all, err := Judge([]api.Awaited{{Ref: ref, Revision: 10}},
				func(api.Ref) Observed { return Observed{Found: true, Object: object} })
			if err != nil {
				t.Fatal(err)
			}
			if got := all[0]; got.State != c.want || !strings.Contains(got.Cause, c.contains) || c.contains != "" &&
				got.Next != "help it" {
				t.Errorf("%s: %+v", c.reason, got)
			}
		})
	}
}

// TestALabSettles: one that was seen to run for a moment may be about to crash. Once its node has seen that it stays
// up, or it is over, the wait ends.
func TestALabSettles(t *testing.T) {
	ref := api.Ref{Kind: api.KindLab, Scope: "school", Name: "linux"}
	for name, c := range map[string]struct {
		reason   string
		ready    api.ConditionStatus
		settling bool
		want     api.OutcomeState
	}{
		"a moment": {"it may end at once", api.ConditionTrue, true, api.OutcomePending},
		"settled":  {"its node has looked again", api.ConditionTrue, false, api.OutcomeConverged},
		"over":     {"nothing is waited for", api.ConditionFalse, true, api.OutcomeConverged},
	} {
		status := api.LabStatus{ObservedRevision: 10, Conditions: []api.Condition{
			{Type: api.ConditionReady, Status: c.ready, Reason: map[api.ConditionStatus]string{
				api.ConditionTrue: "Running", api.ConditionFalse: "TimedOut"}[c.ready]},
			{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: "Complete"},
			{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: "AsExpected"},
		}}
		raw, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Metadata: api.Metadata{Revision: 10},
			Status: raw}
		seen := Observed{Found: true, Object: object, Pods: []api.Pod{{Name: "school-linux.1", Settling: c.settling}}}
		all, err := Judge([]api.Awaited{{Ref: ref, Revision: 10}}, func(api.Ref) Observed { return seen })
		if err != nil {
			t.Fatal(err)
		}
		if all[0].State != c.want {
			t.Errorf("%s (%s): %+v", name, c.reason, all[0])
		}
	}
}

// TestAnyKindWaitsForWhatItRefersTo: a lab, and a job that runs by itself, wait for what the same apply may still
// bring, and fail once nothing else is pending.
func TestAnyKindWaitsForWhatItRefersTo(t *testing.T) {
	no := api.Condition{Status: api.ConditionFalse, Reason: api.ReasonUnresolvedReference,
		Message: "there is no deployment/prod/api"}
	for kind, spec := range map[api.Kind]string{api.KindLab: `{}`, api.KindJob: `{"run_on_release":true}`,
		api.KindDeployment: `{}`} {
		object := api.Object{Kind: kind, Scope: "prod", Name: "x", Spec: []byte(spec),
			Metadata: api.Metadata{Revision: 10}}
		waits := judge(api.Awaited{Ref: object.Ref(), Revision: 10}, object, degraded(statusOf(10, no, no)))
		for _, tc := range []struct {
			beside, want api.OutcomeState
		}{{api.OutcomePending, api.OutcomePending}, {api.OutcomeConverged, api.OutcomeFailed}} {
			all := []judged{waits, {Outcome: api.Outcome{State: tc.beside}}}
			if giveUp(all); all[0].State != tc.want {
				t.Errorf("%s beside what is %s: %s, want %s", kind, tc.beside, all[0].State, tc.want)
			}
		}
	}
}
