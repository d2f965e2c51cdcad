package operation

import (
	"encoding/json"
	"maps"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
)

// maxMessage is the maximum size of a message in bytes: engines report whole logs.
const maxMessage = 1024

// set sets a condition. Its time changes only with its status.
func (d *decision) set(kind string, value bool, reason, message string) {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&d.plan.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: shorten(message),
		ObservedGeneration: d.op.Generation, LastTransitionTime: metav1.NewTime(d.Now),
	})
}

// shorten cuts a message that is too long.
func shorten(message string) string {
	message = strings.ToValidUTF8(message, "?")
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage - len("…")
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + "…"
}

// end ends the operation.
func (d *decision) end(phase opsv1alpha1.OperationPhase, reason, message string) {
	status := &d.plan.Status
	status.Phase = phase
	if status.FinishedAt == nil {
		now := metav1.NewTime(d.Now)
		status.FinishedAt = &now
	}
	d.plan.After = 0
	d.set(opsv1alpha1.ConditionRunning, false, reason, "")
	d.set(opsv1alpha1.ConditionBlocked, false, opsv1alpha1.BlockedUnblocked, "")
	switch phase {
	case opsv1alpha1.PhaseSucceeded:
		d.recovered()
		d.set(opsv1alpha1.ConditionSucceeded, true, reason, message)
	case opsv1alpha1.PhaseCancelled:
		d.notSucceeded()
		d.set(opsv1alpha1.ConditionCancelled, true, reason, message)
	default:
		d.notSucceeded()
		d.set(opsv1alpha1.ConditionFailed, true, reason, message)
	}
}

// notSucceeded sets Succeeded to False, unless it has the result of a replication's last synchronization.
func (d *decision) notSucceeded() {
	was := meta.FindStatusCondition(d.plan.Status.Conditions, opsv1alpha1.ConditionSucceeded)
	if was == nil || was.Reason == opsv1alpha1.SucceededNotYet {
		d.set(opsv1alpha1.ConditionSucceeded, false, opsv1alpha1.SucceededNotYet, "")
	}
}

// failing sets the conditions of an engine that repeats what failed: an earlier success doesn't count any more.
func (d *decision) failing(p engine.Progress) {
	if p.Failing == "" {
		d.recovered()
		return
	}
	d.set(opsv1alpha1.ConditionSucceeded, false, p.Failing, p.Message)
	d.set(opsv1alpha1.ConditionDegraded, true, p.Failing, p.Message)
}

// recovered sets Degraded to False if the operation has that condition.
func (d *decision) recovered() {
	if meta.FindStatusCondition(d.plan.Status.Conditions, opsv1alpha1.ConditionDegraded) != nil {
		d.set(opsv1alpha1.ConditionDegraded, false, opsv1alpha1.DegradedRecovered, "")
	}
}

// output adds to the operation's outputs.
func (d *decision) output(more map[string]string) {
	all := outputs(d.plan.Status)
	before := maps.Clone(all)
	maps.Copy(all, more)
	if maps.Equal(all, before) { // JSON has several forms of the same map: keep the stored one
		return
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err) // can't happen: strings can always be encoded
	}
	d.plan.Status.Outputs = &runtime.RawExtension{Raw: raw}
}

// outputs returns the outputs of a status.
func outputs(status opsv1alpha1.OperationStatus) map[string]string {
	all := map[string]string{}
	if status.Outputs != nil {
		_ = json.Unmarshal(status.Outputs.Raw, &all) // only the operator writes them, as strings
	}
	return all
}
