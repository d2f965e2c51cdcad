//go:build kube

package link_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestAppliedInTendReadyInTend: an object applied in Tend becomes a HelmRelease, and Flux's report comes back, although
// the operator is restarted between any two steps.
func TestAppliedInTendReadyInTend(t *testing.T) {
	w := newWorld(t)
	w.secret(w.tend.invite(w.name))
	w.restart()
	w.declare()
	w.restart()
	w.says(opsv1alpha1.ClusterConnected, "Connected=True/RoundTripOK", "Authenticated=True/CredentialAccepted", "ControllersHealthy=True/AllControllersReady")
	w.restart()
	first := web(w.name, w.namespace, 1)
	w.tend.put(first)
	w.restart()
	release := w.exists(helmRelease, "web")
	if got := release.GetLabels(); got[identity.LabelClusterID] != w.name ||
		got[identity.LabelManagedBy] != identity.ManagedBy {
		t.Errorf("the HelmRelease has the labels %v", got)
	}
	w.restart()
	w.installs()
	w.restart()
	w.tend.says("ready", first, isReady(1, "HelmReleaseReady"))
	second := web(w.name, w.namespace, 2)
	w.tend.put(second)
	w.restart()
	w.fetched("1.0.2")
	w.installs()
	w.tend.says("ready after an upgrade", second, isReady(2, "HelmReleaseReady"))
	w.deletes(second)
}

// deletes deletes an instance in Tend, and waits until it is gone on both sides.
func (w *world) deletes(object api.Object) {
	w.Helper()
	now := w.tend.now()
	object.Metadata.DeletedAt = &now
	w.tend.put(object)
	w.restart()
	kubetest.Eventually(w, "the end of a deletion", func(ctx context.Context) error {
		if _, err := w.get(ctx, applicationInstance, object.Name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the instance is there: %w", err)
		}
		if w.tend.Snapshot().Object(object.Ref()).Exists() {
			return errors.New("the object is there")
		}
		return nil
	})
	if _, err := w.get(w.Context(), helmRelease, "web"); !apierrors.IsNotFound(err) {
		w.Errorf("the HelmRelease outlives the instance: %v", err)
	}
}

// TestReadyComesBackWithoutAJob: after the first generation is ready, Flux's later reports arrive as events.
func TestReadyComesBackWithoutAJob(t *testing.T) {
	w := newWorld(t)
	w.connect()
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.installs()
	w.tend.says("ready", object, isReady(1, "HelmReleaseReady"))
	w.tend.says("succeeded", object, func(status api.DeliveredStatus) bool {
		return status.Delivery != nil && status.Delivery.Outcome == "succeeded"
	})
	jobs := w.tend.sent()
	w.play(helmRelease, "web", "InstallSucceeded", func(_ *unstructured.Unstructured, status map[string]any) {
		for _, c := range status["conditions"].([]any) {
			c.(map[string]any)["status"], c.(map[string]any)["reason"] = "False", "UpgradeFailed"
		}
	})
	w.tend.says("no longer ready", object, func(status api.DeliveredStatus) bool {
		c := api.FindCondition(status.Conditions, api.ConditionReady)
		return c != nil && c.Status == api.ConditionFalse && c.Reason == "HelmReleaseFailed"
	})
	if now := w.tend.sent(); now != jobs {
		t.Errorf("a job was sent %d times, want %d: what came back came as an event", now, jobs)
	}
}

// TestARedeliveredJobIsANoOp: an operator that ended before sending a result gets the job again, and writes nothing.
func TestARedeliveredJobIsANoOp(t *testing.T) {
	w := newWorld(t)
	w.connect()
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.tend.says("applied", object, func(status api.DeliveredStatus) bool { return status.ObservedGeneration == 1 })
	w.exists(helmRelease, "web") // by now the instance has its finalizer
	before := w.applies()
	if before == 0 {
		t.Fatal("the audit log has no apply of the instance")
	}
	w.restart()
	kubetest.Eventually(t, "the result of the second delivery", func(context.Context) error {
		if got := w.tend.outcomes(); !strings.Contains(got, "noop") || w.tend.sent() < 2 {
			return fmt.Errorf("results %q, a job was sent %d times", got, w.tend.sent())
		}
		return nil
	})
	if after := w.applies(); after != before {
		t.Errorf("%d applies of the instance, want %d: it was applied again", after, before)
	}
	w.installs()
	w.tend.says("ready all the same", object, isReady(1, "HelmReleaseReady"))
}

// TestAConflictNamesManagerAndField: a field set by another manager stays, and Tend names that manager.
func TestAConflictNamesManagerAndField(t *testing.T) {
	w := newWorld(t)
	w.connect()
	theirs := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"appRef": map[string]any{"catalogId": "theirs"}, "mode": "placeholder",
	}}}
	theirs.SetGroupVersionKind(applicationInstance)
	theirs.SetNamespace(w.namespace)
	theirs.SetName("web")
	if err := w.user.Apply(
		t.Context(), client.ApplyConfigurationFromUnstructured(theirs), client.FieldOwner("kubectl-of-a-person"),
	); err != nil {
		t.Fatal(err)
	}
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.tend.says("conflict", object, func(status api.DeliveredStatus) bool {
		return status.Phase == api.DeliveredConflict &&
			strings.Contains(status.Delivery.Error, "kubectl-of-a-person") &&
			strings.Contains(status.Delivery.Error, ".spec.appRef.catalogId")
	})
	live, err := w.get(t.Context(), applicationInstance, "web")
	if err != nil {
		t.Fatal(err)
	}
	if id, _, _ := unstructured.NestedString(live.Object, "spec", "appRef", "catalogId"); id != "theirs" {
		t.Errorf("catalogId is %s: it was overwritten", id)
	}
}

// TestAManifestTakesOver: an annotation takes over the fields of the manager that it names, once. Afterwards that
// manager can own fields again.
func TestAManifestTakesOver(t *testing.T) {
	w := newWorld(t)
	w.connect()
	theirs := func(spec map[string]any) {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(applicationInstance)
		object.SetNamespace(w.namespace)
		object.SetName("web")
		if err := w.user.Apply(
			t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl-of-a-person"), client.ForceOwnership,
		); err != nil {
			t.Fatal(err)
		}
	}
	catalog := func(want string) {
		t.Helper()
		kubetest.Eventually(t, "catalogId "+want, func(ctx context.Context) error {
			live, err := w.get(ctx, applicationInstance, "web")
			if id, _, _ := unstructured.NestedString(live.Object, "spec", "appRef", "catalogId"); err == nil && id != want {
				return fmt.Errorf("catalogId is %s", id)
			}
			return err
		})
	}
	theirs(map[string]any{"appRef": map[string]any{"catalogId": "theirs"}, "mode": "placeholder"})
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	conflict := func(status api.DeliveredStatus) bool {
		return status.Phase == api.DeliveredConflict && strings.Contains(status.Delivery.Error, "kubectl patch applicationinstance web") &&
			strings.Contains(status.Delivery.Error, `apps.vworkspace.io/take-over = "kubectl-of-a-person"`)
	}
	w.tend.says("conflict", object, conflict)
	object.Metadata.Annotations = map[string]string{"apps.vworkspace.io/take-over": "kubectl-of-a-person"}
	w.tend.put(object)
	catalog("web")
	theirs(map[string]any{"appRef": map[string]any{"catalogId": "again"}})
	object = web(w.name, w.namespace, 2)
	object.Metadata.Annotations = map[string]string{"apps.vworkspace.io/take-over": "kubectl-of-a-person"}
	w.tend.put(object)
	w.tend.says("conflict", object, conflict)
	catalog("again")
}

// TestCredentials: the Secret belongs to the Cluster, a rotation replaces the token by a working one, and nothing
// writes the spec.
func TestCredentials(t *testing.T) {
	w := newWorld(t)
	w.connect()
	first, err := w.credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	declared, err := w.cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o := metav1.GetControllerOf(first); o == nil || o.UID != declared.UID {
		t.Errorf("the Secret is controlled by %+v", o)
	}
	if declared.Status.ClusterID != w.name || declared.Status.CredentialsSecretRef == nil ||
		declared.Status.ObservedToken == "" || declared.Status.LastHeartbeat == nil {
		t.Errorf("%+v", declared.Status)
	}
	w.rotates()
	second, err := w.credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(second.Data["token"]) == string(first.Data["token"]) || string(second.Data["registered-with"]) != string(first.Data["registered-with"]) {
		t.Error("the token is not another one of the same registration")
	}
	w.restart()
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.exists(helmRelease, "web")
	w.says(opsv1alpha1.ClusterConnected, "Authenticated=True/CredentialAccepted")
}

// TestANewTokenMendsAnything: a new token recovers from a wrong one, from revoked credentials and from a deleted
// Secret.
func TestANewTokenMendsAnything(t *testing.T) {
	w := newWorld(t)
	w.declare()
	w.says(opsv1alpha1.ClusterPending, "Authenticated=False/TokenSecretMissing", "Connected=False/RegistrationPending")
	w.secret("vwksp-reg-wrong")
	w.says(opsv1alpha1.ClusterError, "Authenticated=False/RegistrationFailed", "Connected=False/RegistrationTokenInvalid")
	w.secret(w.tend.invite(w.name))
	w.says(opsv1alpha1.ClusterConnected, "Authenticated=True/CredentialAccepted")

	secret, err := w.credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["token"] = []byte("vwksp-agt-wrong")
	if err := w.user.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.says(opsv1alpha1.ClusterError, "Authenticated=False/CredentialRejected")
	w.forget(secret)
	w.secret(w.tend.invite(w.name))
	w.says(opsv1alpha1.ClusterConnected, "Authenticated=True/CredentialAccepted", "Connected=True/RoundTripOK")
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.exists(helmRelease, "web")
}

// forget deletes the Secret with the credentials.
func (w *world) forget(secret *corev1.Secret) {
	w.Helper()
	if err := w.user.Delete(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
}

// TestANetworkFailureIsNoRefusal: if the control plane is unreachable, the cluster is not connected but still
// authenticated. Events of the meantime are reported later.
func TestANetworkFailureIsNoRefusal(t *testing.T) {
	w := newWorld(t)
	w.connect()
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.exists(helmRelease, "web")
	w.tend.away.Store(true)
	w.says(opsv1alpha1.ClusterDisconnected, "Connected=False/ControlPlaneUnreachable", "Authenticated=True/CredentialAccepted")
	w.installs()
	w.tend.away.Store(false)
	w.says(opsv1alpha1.ClusterConnected, "Connected=True/RoundTripOK", "Authenticated=True/CredentialAccepted")
	w.tend.says("ready after it is back", object, isReady(1, "HelmReleaseReady"))
}

// TestADeletedClusterGoes: its puller ends, and then its finalizer is removed. What it delivered keeps the cluster's
// label, and nothing is applied again for lack of one.
func TestADeletedClusterGoes(t *testing.T) {
	w, _ := delivered(t)
	declared, err := w.cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.user.Delete(t.Context(), declared); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the end of the Cluster", func(ctx context.Context) error {
		if _, err := w.cluster(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	w.patch(`{"spec":{"timeout":"7m"}}`) // the operator reconciles the instance without a Cluster
	kubetest.Eventually(t, "the change of the release", func(ctx context.Context) error {
		release, err := w.get(ctx, helmRelease, "web")
		if err != nil {
			return err
		}
		timeout, _, _ := unstructured.NestedString(release.Object, "spec", "timeout")
		if label := release.GetLabels()[identity.LabelClusterID]; timeout != "7m" || label != w.name {
			return fmt.Errorf("its timeout is %q, its label %q", timeout, label)
		}
		return nil
	})
	if applied := w.Writes(t, func(write kubetest.Write) bool {
		return write.Agent == w.agent() && write.Resource == "ocirepositories" && write.Namespace == w.namespace
	}); len(applied) != 1 {
		t.Errorf("the source, which did not change, was written %d times: %+v", len(applied), applied)
	}
}
