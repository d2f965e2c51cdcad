//go:build kube

package link_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// command is an operation that needs an approval.
func command(w *world, generation int64, claim string) api.Object {
	return api.Object{
		Kind: api.KindOperation, Scope: w.namespace, Name: "run",
		Metadata: api.Metadata{UID: "uid-run", Generation: generation, Finalizers: []string{api.FinalizerCluster}},
		Spec: fmt.Appendf(nil, `{"cluster":%q,"targetRef":{"name":"web"},"type":"RunCommand","engine":"job","parameters":{"image":"busybox:1"},
			"approvals":{"required":true,"claim":%q}}`, w.name, claim),
	}
}

// TestApprovalFromEndToEnd: an operation declared in Tend waits for its approval. False claims are refused with the
// cause. The claim of `tend approve` starts it, with no other secret than the one that `tend clusters add` printed.
func TestApprovalFromEndToEnd(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.commanded()
	_, secret, err := w.tend.Handler.Keys(t.Context(), w.name)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(claim approval.Claim, key string) string {
		t.Helper()
		text, err := approvaltest.Sign(claim, []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	later := time.Now().Add(time.Hour).Unix()
	for i, lie := range []struct{ claim, says string }{
		{"", "an approval is required"},
		{sign(approval.Claim{Operation: "run", Expires: later}, "another secret"), "digest"},
		{sign(approval.Claim{Operation: "run", Expires: time.Now().Add(-time.Hour).Unix()}, secret), "expired"},
		{sign(approval.Claim{Operation: "run", Expires: later, UID: "of-one-that-was-deleted"}, secret), "another operation"},
		{sign(approval.Claim{Operation: "run", Expires: later, Parameters: "of others"}, secret), "parameters"},
		{sign(approval.Claim{Operation: "run", Expires: later, Policy: "of another"}, secret), "policy"},
	} {
		w.tend.put(command(w, int64(i+1), lie.claim))
		w.held(int64(i+1), lie.says)
	}
	w.approves(command(w, 7, ""))
}

// TestKeysThatWereNeverRegistered: new keys are made and applied, but their token has expired. The operator keeps its
// old keys, also after a rotation: jobs are done, and approvals count.
func TestKeysThatWereNeverRegistered(t *testing.T) {
	w := newWorld(t)
	w.connect()
	before, err := w.credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	over, _, err := w.tend.Handler.InviteWithNewKeys(t.Context(), w.name, time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	w.secret(over)
	kubetest.Eventually(t, "the refusal of the token", func(ctx context.Context) error {
		cluster, err := w.cluster(ctx)
		if err == nil && !strings.Contains(fmt.Sprint(cluster.Status.Conditions), "registering again failed") {
			err = fmt.Errorf("%+v", cluster.Status.Conditions)
		}
		return err
	})
	w.rotates()
	after, err := w.credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"job-keys", "approval-secret"} {
		if len(before.Data[key]) == 0 || string(after.Data[key]) != string(before.Data[key]) {
			t.Errorf("%s was %q, and is %q", key, before.Data[key], after.Data[key])
		}
	}
	w.commanded()
	w.approves(command(w, 1, ""))
}

// rotates requests a new credential, and waits until the operator has it.
func (w *world) rotates() {
	w.Helper()
	declared, err := w.cluster(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	patch := client.MergeFrom(declared.DeepCopy())
	declared.Spec.RotateCredentials = true
	if err := w.user.Patch(w.Context(), declared, patch); err != nil {
		w.Fatal(err)
	}
	kubetest.Eventually(w, "rotation", func(ctx context.Context) error {
		cluster, err := w.cluster(ctx)
		if err != nil {
			return err
		}
		if !cluster.Status.RotationObserved || !cluster.Spec.RotateCredentials {
			return fmt.Errorf("%+v, %+v", cluster.Spec, cluster.Status)
		}
		return nil
	})
}

// commanded makes an application that allows commands.
func (w *world) commanded() {
	w.Helper()
	target := web(w.name, w.namespace, 1)
	target.Metadata.Annotations = map[string]string{identity.CapabilityPrefix + "runcommand": "job"}
	w.tend.put(target)
	runner := metav1.ObjectMeta{Namespace: w.namespace, Name: identity.RunnerServiceAccount}
	if err := w.user.Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: runner}); err != nil {
		w.Fatal(err)
	}
}

// approves declares an operation, approves it once it waits for that, and waits for its start.
func (w *world) approves(last api.Object) {
	w.Helper()
	w.tend.put(last)
	w.held(last.Metadata.Generation, "an approval is required")
	w.tend.says("the operation in its cluster", last, func(status api.DeliveredStatus) bool {
		c := api.FindCondition(status.Conditions, "Blocked")
		return c != nil && c.Status == api.ConditionTrue && c.Reason == "AwaitingApproval" &&
			status.Delivery != nil && status.Delivery.Resource != nil && status.Delivery.Resource.UID != ""
	})
	seen := verbs.Approval{Why: "tested", UID: last.Metadata.UID, Generation: last.Metadata.Generation}
	if _, err := w.tend.Verbs().Approve(w.Context(), verbs.TargetOf(last.Ref()), seen, "ada"); err != nil {
		w.Fatal(err)
	}
	kubetest.Eventually(w, "the start of the operation", func(ctx context.Context) error {
		op, err := w.run(ctx)
		if err != nil || op.Status.StartedAt == nil {
			return fmt.Errorf("%+v (%w)", op.Status, err)
		}
		return nil
	})
}

// run reads the operation of that name.
func (w *world) run(ctx context.Context) (*opsv1alpha1.Operation, error) {
	op := &opsv1alpha1.Operation{}
	return op, w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "run"}, op)
}

// held waits until the operation for a generation in Tend is blocked with a message that contains part.
func (w *world) held(generation int64, part string) {
	w.Helper()
	kubetest.Eventually(w, "the operation, which "+part, func(ctx context.Context) error {
		op, err := w.run(ctx)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(op.Status.Conditions, "Blocked")
		ours := strings.HasSuffix(op.Annotations["tend.dev/object"], fmt.Sprint(".", generation))
		if !ours || op.Status.ObservedGeneration != op.Generation || c == nil || c.Reason != "AwaitingApproval" ||
			!strings.Contains(c.Message, part) {
			return fmt.Errorf("%v, %+v", op.Annotations, op.Status.Conditions)
		}
		return nil
	})
}
