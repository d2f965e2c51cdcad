package operation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
)

// TestAdmit: an operation that can never start is refused. One that may start later waits.
func TestAdmit(t *testing.T) {
	sign := func(operation string, expires time.Time, secret []byte) *opsv1alpha1.Approvals {
		claim, err := approvaltest.Sign(approval.Claim{Operation: operation, Expires: expires.Unix()}, secret)
		if err != nil {
			t.Fatal(err)
		}
		return &opsv1alpha1.Approvals{Required: true, Claim: claim}
	}
	tests := map[string]struct {
		change         func(*world, *opsv1alpha1.Operation)
		input          func(*Input)
		waits, refused string
	}{
		"fine": {},
		"policy": {input: func(in *Input) {
			in.Denied = &bounds.RefusalError{Reason: bounds.TypeNotAllowed, Message: "Backup is not allowed"}
		}, refused: "OperationTemplateNotAllowedInNamespace: Backup is not allowed"},
		"engine":     {change: func(_ *world, op *opsv1alpha1.Operation) { op.Spec.Engine = opsv1alpha1.EngineHelm }, refused: "engines that can are velero, volsync"},
		"parameters": {change: func(_ *world, op *opsv1alpha1.Operation) { op.Spec.Parameters.Raw = []byte(`{"tll":"1h"}`) }, refused: "spec.parameters"},
		"forged": {change: func(w *world, op *opsv1alpha1.Operation) {
			op.Spec.Approvals = sign(op.Name, w.now.Add(time.Hour), []byte("guessed"))
		}, refused: "digest"},
		"over": {change: func(w *world, op *opsv1alpha1.Operation) {
			op.Spec.Approvals = sign(op.Name, w.now.Add(-time.Hour), secret)
		}, refused: "has expired"},
		"nobody can check": {change: func(w *world, op *opsv1alpha1.Operation) {
			op.Spec.Approvals = sign(op.Name, w.now.Add(time.Hour), secret)
		}, input: func(in *Input) { in.ApprovalSecret = nil }, waits: "--approval-claim-secret"},
		"approved": {change: func(w *world, op *opsv1alpha1.Operation) {
			op.Spec.Approvals = sign(op.Name, w.now.Add(time.Hour), secret)
		}},
		"not approved": {change: func(_ *world, op *opsv1alpha1.Operation) {
			op.Spec.Approvals = &opsv1alpha1.Approvals{Required: true}
		}, waits: "claim"},
		"no target": {change: func(w *world, _ *opsv1alpha1.Operation) { w.target = nil }, waits: "there is no ApplicationInstance web"},
		"no capability": {change: func(w *world, _ *opsv1alpha1.Operation) {
			delete(w.target.Annotations, "ops.vworkspace.io/backup")
		}, waits: "does not advertise Backup"},
		"another runs": {change: func(w *world, _ *opsv1alpha1.Operation) {
			w.operation("before", opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero, `{"backupName":"b"}`).Status.StartedAt = &metav1.Time{Time: w.now}
		}, waits: "waits for the Restore before of the same target"},
		"no Secret": {input: func(in *Input) {
			in.Missing = []engine.Need{{GroupVersionKind: engine.KindSecret, Namespace: "prod", Name: "keys", Next: "create it"}}
		}, waits: "has no Secret keys"},
		"not installed": {input: func(in *Input) { in.NotInstalled = true }, waits: "the kinds of the engine velero are not installed"},
		"window closed": {change: func(w *world, _ *opsv1alpha1.Operation) {
			w.target.Annotations[identity.AnnotationMaintenanceWindow] = `{schedule: "0 2 * * 0", duration: 2h}`
		}, waits: "opens at 2026-11-29T02:00:00Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			op := w.operation("nightly", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, `{}`)
			if test.change != nil {
				test.change(w, op)
			}
			in := w.input(op)
			if test.input != nil {
				test.input(&in)
			}
			waits, refused := Admit(in)
			if (waits == "") != (test.waits == "") || !strings.Contains(waits, test.waits) {
				t.Errorf("waits for %q, want %q", waits, test.waits)
			}
			if (refused == nil) != (test.refused == "") || refused != nil && !strings.Contains(refused.Error(), test.refused) {
				t.Errorf("refused: %v, want %q", refused, test.refused)
			}
		})
	}
}
