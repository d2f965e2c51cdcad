package instance_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/operation"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// upgrade returns an Upgrade of an instance.
func upgrade(of *unstructured.Unstructured) *opsv1alpha1.Operation {
	return &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "upgrade", Generation: 1},
		Spec: opsv1alpha1.OperationSpec{
			Type: opsv1alpha1.TypeUpgrade, Engine: opsv1alpha1.EngineHelm,
			TargetRef: opsv1alpha1.TargetRef{
				APIVersion: of.GetAPIVersion(), Kind: of.GetKind(), Name: of.GetName(),
			},
			Parameters: &runtime.RawExtension{Raw: []byte(`{"valuesPatch":{"replicas":3}}`)},
		},
	}
}

// TestAnUpgradeCuresARefusedRelease: while the API server refuses the HelmRelease for its values, the instance is
// Blocked, and an Upgrade with others begins and ends that. An Upgrade that is refused itself is Blocked.
func TestAnUpgradeCuresARefusedRelease(t *testing.T) {
	made, refused := stored(t), `"replicas":2`
	c := interceptor.NewClient(clientOf(t, made, cluster.Client{Name: "operator"}), interceptor.Funcs{Apply: func(
		ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, opts ...client.ApplyOption,
	) error {
		text, err := json.Marshal(config)
		if err == nil && strings.Contains(string(text), `"HelmRelease"`) && strings.Contains(string(text), refused) {
			err = apierrors.NewForbidden(schema.GroupResource{Resource: "helmreleases"}, "web",
				errors.New("denied by the webhook"))
		}
		if err != nil {
			return err
		}
		return c.Apply(ctx, config, opts...)
	}})
	reconciler := reconcilerOf(c, c)
	op := upgrade(made.Get(cluster.Instance, "prod", "web"))
	target := func() *appsv1alpha1.ApplicationInstance {
		_, _ = reconciler.Reconcile(t.Context(), webRequest) // it returns the refusal, to be called again
		read := &appsv1alpha1.ApplicationInstance{}
		live := made.Get(cluster.Instance, "prod", "web")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, read); err != nil {
			t.Fatal(err)
		}
		return read
	}
	decide := func() {
		in := operation.Input{Now: time.Now()}
		in.Operation, in.Target = op, target()
		in.Target.Annotations = map[string]string{"ops.vworkspace.io/upgrade": "helm"}
		in.Observed = made.Get(cluster.HelmRelease, "prod", "web")
		op.Status = operation.Decide(in).Status
		store(t, made, op)
	}
	if got := blockedBy(target().Status.Conditions); !strings.Contains(got, "ApplyRefused: ") {
		t.Fatalf("the instance is blocked by %q", got)
	}
	if decide(); op.Status.StartedAt == nil {
		t.Fatalf("it has not started: %+v", op.Status.Conditions)
	}
	if got := blockedBy(target().Status.Conditions); got != "" || made.Get(cluster.HelmRelease, "prod", "web") == nil {
		t.Errorf("the Upgrade has begun, and the instance is still blocked by %q", got)
	}
	refused = `"replicas":3`
	live := made.Get(cluster.HelmRelease, "prod", "web")
	if _, err := made.Delete(live, "kubectl", live.GetUID()); err != nil {
		t.Fatal(err)
	}
	decide()
	if got := blockedBy(op.Status.Conditions); !strings.Contains(got, opsv1alpha1.BlockedTargetNotReady) ||
		!strings.Contains(got, "denied by the webhook") {
		t.Errorf("refused itself: the Upgrade is blocked by %q", got)
	}
}

// blockedBy returns the reason and the message of Blocked, or an empty text.
func blockedBy(conditions []metav1.Condition) string {
	c := meta.FindStatusCondition(conditions, "Blocked")
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// store stores an operation with its status.
func store(t *testing.T, made *cluster.Cluster, op *opsv1alpha1.Operation) {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(op)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(cluster.Operation)
	if live := made.Get(cluster.Operation, op.Namespace, op.Name); live == nil {
		_, err = made.Create(object.DeepCopy(), cluster.Write{By: "user"})
	}
	if err == nil {
		live := made.Get(cluster.Operation, op.Namespace, op.Name)
		op.UID = live.GetUID()
		live.Object["status"] = object.Object["status"]
		_, err = made.Update(live, cluster.Write{By: "operator", Status: true})
	}
	if err != nil {
		t.Fatal(err)
	}
}
