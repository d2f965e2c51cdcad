package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/store/records"
)

// delivered puts an operation into its cluster, as its operator reports it: with conditions that are true.
func (w *world) delivered(object api.Object, conditions ...string) {
	w.t.Helper()
	status := api.DeliveredStatus{Delivery: &api.DeliveryStatus{Resource: &api.ClusterResource{UID: "uid-1"}}}
	for _, condition := range conditions {
		status.Conditions = append(status.Conditions, api.Condition{Type: condition, Status: api.ConditionTrue})
	}
	w.put(records.StatusKey(object.Ref()), status)
}

// approves decides about the operation as it is, if the approval does not say what was seen.
func (w *world) approves(a Approval) (api.VerbResult, error) {
	if is := w.object(backup("", "").Ref()).Metadata; a.UID == "" && a.Generation == 0 && !a.Deny {
		a.UID, a.Generation = is.UID, is.Generation
	}
	return w.service.Approve(w.t.Context(), TargetOf(backup("", "").Ref()), a, "ada (token from 10.0.0.1)")
}

// TestApprove: the claim is bound to the resource and its parameters, says who and why, and is checked with the secret
// that the cluster was registered with. Applying the file again takes nothing back.
func TestApprove(t *testing.T) {
	w := newWorld(t)
	w.service.opts.MAC = func(plain []byte) string { return fmt.Sprintf("%x", plain) }
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), backup("velero", "1h"))
	_, err := w.approves(Approval{})
	if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Detail, "not in its cluster yet") {
		t.Error(refused.Detail)
	}
	w.delivered(backup("", ""), "Blocked")
	_, err = w.approves(Approval{})
	if refused := wantReason(t, err, Invalid); refused.Next != "tend clusters add east" {
		t.Error(refused.Detail, refused.Next)
	}
	uid := w.object(clusterObject("east").Ref()).Metadata.UID
	w.put(records.ClusterAccessKey("east"), api.ClusterAccess{UID: uid, Keys: 1})
	result, err := w.approves(Approval{Why: "tested", Life: time.Hour})
	if err != nil || !result.Changed {
		t.Fatal(result, err)
	}
	spec, err := api.DecodeSpec[api.OperationSpec](*w.object(backup("", "").Ref()))
	if err != nil || spec.Approvals == nil || spec.Approvals.ApprovedBy != "ada" {
		t.Fatalf("%+v, %v", spec, err)
	}
	secret := []byte(approval.Secret(w.service.opts.MAC, uid, 1))
	op := approval.Operation{Namespace: "org", Name: "backup", UID: "uid-1", Parameters: []byte(`{ "ttl" : "1h" }`)}
	claim, err := approval.Verify(spec.Approvals.Claim, secret, op, testTime.Add(time.Hour))
	if err != nil || claim.By != "ada" || claim.Why != "tested" {
		t.Fatalf("%+v, %v", claim, err)
	}
	other := op
	other.UID = "uid-2"
	if _, err := approval.Verify(spec.Approvals.Claim, secret, other, testTime); !errors.Is(err, approval.ErrOther) {
		t.Errorf("of another resource of the name: %v", err)
	}
	changed := op
	changed.Parameters = []byte(`{"ttl":"2h"}`)
	if _, err := approval.Verify(spec.Approvals.Claim, secret, changed, testTime); !errors.Is(err,
		approval.ErrParameters) {
		t.Errorf("with other parameters: %v", err)
	}
	strict := op
	strict.Policy.RequireReady = true
	if _, err := approval.Verify(spec.Approvals.Claim, secret, strict, testTime); !errors.Is(err, approval.ErrPolicy) {
		t.Errorf("with another policy: %v", err)
	}
	if _, err := approval.Verify(spec.Approvals.Claim, []byte(approval.Secret(w.service.opts.MAC, uid, 2)), op,
		testTime); !errors.Is(err, approval.ErrForged) {
		t.Errorf("with the next secret: %v", err)
	}
	w.mustApply(backup("velero", "1h"))
	if after, _ := api.DecodeSpec[api.OperationSpec](*w.object(backup("", "").Ref())); after.Approvals == nil ||
		after.Approvals.Claim != spec.Approvals.Claim {
		t.Error("applying the file again took the approval back")
	}
}

// TestApproveWhatWasSeen: an operation that has changed since a person saw it is not approved.
func TestApproveWhatWasSeen(t *testing.T) {
	w := newWorld(t)
	w.service.opts.MAC = func(plain []byte) string { return fmt.Sprintf("%x", plain) }
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), backup("velero", "1h"))
	w.put(records.ClusterAccessKey("east"), api.ClusterAccess{UID: w.object(clusterObject("east").Ref()).Metadata.UID})
	w.delivered(backup("", ""), "Blocked")
	seen := w.object(backup("", "").Ref()).Metadata
	w.mustApply(backup("velero", "2h"))
	for part, a := range map[string]Approval{
		"has generation 2, and was shown as of generation 1": {UID: seen.UID, Generation: seen.Generation},
		"declared again": {UID: "another", Generation: seen.Generation + 1},
	} {
		_, err := w.approves(a)
		if refused := wantReason(t, err, Changed); !strings.Contains(refused.Detail, part) {
			t.Errorf("%s, want: %s", refused.Detail, part)
		}
	}
	if result, err := w.approves(Approval{UID: seen.UID, Generation: seen.Generation + 1}); err != nil ||
		!result.Changed {
		t.Errorf("as it was seen: %+v, %v", result, err)
	}
}

// TestAnApprovalSaysWhatWasSeen: without the uid and the generation nothing is approved.
func TestAnApprovalSaysWhatWasSeen(t *testing.T) {
	w := newWorld(t)
	w.service.opts.MAC = func(plain []byte) string { return fmt.Sprintf("%x", plain) }
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), backup("velero", "1h"))
	w.put(records.ClusterAccessKey("east"), api.ClusterAccess{UID: w.object(clusterObject("east").Ref()).Metadata.UID})
	w.delivered(backup("", ""), "Blocked")
	before := w.object(backup("", "").Ref())
	for name, a := range map[string]Approval{
		"nothing": {}, "uid alone": {UID: before.Metadata.UID},
		"generation alone": {Generation: before.Metadata.Generation},
	} {
		_, err := w.service.Approve(t.Context(), TargetOf(before.Ref()), a, "ada")
		if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Detail,
			"the uid and the generation that were seen") {
			t.Errorf("%s: %s", name, refused.Detail)
		}
	}
	if after := w.object(before.Ref()); string(after.Spec) != string(before.Spec) {
		t.Errorf("the spec is %s", after.Spec)
	}
}

// TestApprovalsThatCanNotBe: what has started needs none, and what has ended can't be approved or denied.
func TestApprovalsThatCanNotBe(t *testing.T) {
	w := newWorld(t)
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), backup("velero", "1h"))
	for condition, want := range map[string]struct {
		deny bool
		part string
	}{
		api.OperationRunning: {false, "runs already"}, api.OperationSucceeded: {false, "has ended"},
		api.OperationCancelled: {true, "has ended"}, api.DeliveredFailed: {true, "has ended"},
	} {
		w.delivered(backup("", ""), condition)
		_, err := w.approves(Approval{Deny: want.deny})
		if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Detail, want.part) {
			t.Errorf("%s: %s", condition, refused.Detail)
		}
	}
	for name, a := range map[string]Approval{"too long": {Life: 32 * 24 * time.Hour},
		"too short": {Life: time.Millisecond}, "too wordy": {Why: strings.Repeat("x", 257)}} {
		_, err := w.approves(a)
		if wantReason(t, err, Invalid) == nil {
			t.Error(name)
		}
	}
	_, err := w.service.Approve(t.Context(), TargetOf(instanceOf("", "").Ref()), Approval{}, "ada")
	wantReason(t, err, Invalid)
}

// TestDeny ends an operation by the annotation that the cluster's operator acts on, and says who and why.
func TestDeny(t *testing.T) {
	w := newWorld(t)
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), backup("velero", "1h"))
	result, err := w.approves(Approval{Deny: true, Why: "not tonight"})
	if err != nil || !result.Changed {
		t.Fatal(result, err)
	}
	w.mustApply(backup("velero", "1h")) // who applies the file again takes no denial back
	object := w.object(backup("", "").Ref())
	if got := object.Metadata.Annotations["ops.vworkspace.io/cancel"]; got != "denied by ada: not tonight" {
		t.Errorf("the annotation is %q", got)
	}
	if !json.Valid(object.Spec) || strings.Contains(string(object.Spec), "claim") {
		t.Errorf("the spec is %s", object.Spec)
	}
}

// TestDenyAReplication: one with a schedule has succeeded before, and is still ended while it runs.
func TestDenyAReplication(t *testing.T) {
	w := newWorld(t)
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), backup("velero", "1h"))
	w.delivered(backup("", ""), api.OperationSucceeded, api.OperationRunning)
	_, err := w.approves(Approval{})
	if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Detail, "runs already") {
		t.Error(refused.Detail)
	}
	if result, err := w.approves(Approval{Deny: true}); err != nil || !result.Changed {
		t.Error(result, err)
	}
	w.delivered(backup("", ""), api.OperationSucceeded, api.OperationCancelled)
	_, err = w.approves(Approval{Deny: true})
	if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Detail, "has ended: Cancelled") {
		t.Error(refused.Detail)
	}
}
