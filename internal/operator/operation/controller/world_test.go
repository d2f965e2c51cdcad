//go:build kube

package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/kubetest"
)

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m,
		kubetest.Tend, kubetest.Flux, kubetest.Velero, kubetest.Argo, kubetest.VolSync, kubetest.Snapshots))
}

var secret = []byte("a secret of both sides")

// world is a namespace of a server with one instance, seen by a user and by the controllers of engines.
type world struct {
	*testing.T
	server       *kubetest.Server
	namespace    string
	user, player client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, kubetest.Shared())
}

func newWorldOn(t *testing.T, server *kubetest.Server) *world {
	t.Helper()
	w := &world{T: t, server: server, namespace: server.Namespace(t), user: server.Client(t, "user"), player: server.Client(t, "player")}
	instance := &appsv1alpha1.ApplicationInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web", Annotations: map[string]string{
			"ops.vworkspace.io/backup": "velero,volsync", "ops.vworkspace.io/restore": "velero", "ops.vworkspace.io/upgrade": "helm",
			"ops.vworkspace.io/runcommand": "job", "ops.vworkspace.io/migration": "helmHookJob", "ops.vworkspace.io/runbook": "workflow",
		}},
		Spec: appsv1alpha1.ApplicationInstanceSpec{
			AppRef:  appsv1alpha1.AppRef{CatalogID: "web"},
			Chart:   &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceHelm, URL: "https://charts.example.org", Name: "web", Version: "1.0.0"},
			Release: &appsv1alpha1.Release{Name: "web", Namespace: w.namespace},
			Values:  &appsv1alpha1.Values{Source: appsv1alpha1.ValuesInline, Inline: &runtime.RawExtension{Raw: []byte(`{"replicas":1}`)}},
		},
	}
	if err := w.user.Create(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	w.secret("s")
	w.secret("restic")
	w.needs()
	return w
}

// needs creates the objects, besides Secrets, that the tests' operations need.
func (w *world) needs() {
	w.Helper()
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"vworkspace-operation-runner"}}`,
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`,
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"WorkflowTemplate","metadata":{"name":"rotate"},"spec":{"entrypoint":"main"}}`,
	} {
		w.apply(w.namespace, text)
	}
	w.location(w.namespace)
}

// location creates a BackupStorageLocation, which shows the namespace of Velero.
func (w *world) location(namespace string) {
	w.Helper()
	w.apply(namespace, `{"apiVersion":"velero.io/v1","kind":"BackupStorageLocation","metadata":{"name":"default"},
		"spec":{"provider":"aws","objectStorage":{"bucket":"b"}}}`)
}

// apply creates an object from JSON, unless the server lacks its kind.
func (w *world) apply(namespace, text string) {
	w.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		w.Fatal(err)
	}
	object.SetNamespace(namespace)
	if err := w.user.Create(w.Context(), object); err != nil && !meta.IsNoMatchError(err) {
		w.Fatal(err)
	}
}

// begins waits until an operation's object was requested.
func (w *world) begins(name string) *opsv1alpha1.Operation {
	w.Helper()
	var found *opsv1alpha1.Operation
	kubetest.Eventually(w, "start of "+name, func(ctx context.Context) error {
		op, err := w.operation(ctx, name)
		if err != nil || op.Status.StartedAt == nil || op.Status.EngineRef == nil || op.Status.EngineRef.UID == "" {
			return fmt.Errorf("it has %+v (%w)", op.Status, err)
		}
		found = op
		return nil
	})
	return found
}

// secret creates a Secret that an operation may name.
func (w *world) secret(name string) {
	w.Helper()
	if err := w.user.Create(w.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
	}); err != nil {
		w.Fatal(err)
	}
}

// agent returns the operator's user agent in this world.
func (w *world) agent() string { return "operator-of-" + w.namespace }

// operate runs an operator for this namespace until the test ends.
func (w *world) operate() {
	w.Helper()
	made, err := operator.NewManager(w.server.As(w.agent()), operator.Options{
		Namespace: w.namespace, Watched: w.namespace, ClusterID: "berlin", Retry: 50 * time.Millisecond,
		ApprovalSecret: secret,
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the operator ended: %v", err)
		}
	})
}

// create creates an operation on the instance.
func (w *world) create(
	name string, kind opsv1alpha1.OperationType, engine opsv1alpha1.Engine, parameters string,
) *opsv1alpha1.Operation {
	w.Helper()
	op := &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: opsv1alpha1.OperationSpec{
			TargetRef: opsv1alpha1.TargetRef{APIVersion: "apps.vworkspace.io/v1alpha1", Kind: "ApplicationInstance", Name: "web"},
			Type:      kind, Engine: engine,
		},
	}
	if parameters != "" {
		op.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
	}
	if kind == opsv1alpha1.TypeRestore {
		claim, err := approvaltest.Sign(approval.Claim{
			Operation: name, Namespace: w.namespace, Expires: time.Now().Add(time.Hour).Unix(),
		}, secret)
		if err != nil {
			w.Fatal(err)
		}
		op.Spec.Approvals = &opsv1alpha1.Approvals{Claim: claim}
	}
	if err := w.user.Create(w.Context(), op); err != nil {
		w.Fatal(err)
	}
	return op
}

// operation reads an operation.
func (w *world) operation(ctx context.Context, name string) (*opsv1alpha1.Operation, error) {
	op := &opsv1alpha1.Operation{}
	return op, w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, op)
}

// reaches waits until an operation has a phase, and a true condition with a reason.
func (w *world) reaches(
	name string, phase opsv1alpha1.OperationPhase, condition, reason string,
) *opsv1alpha1.Operation {
	w.Helper()
	var found *opsv1alpha1.Operation
	kubetest.Eventually(w, "operation "+name, func(ctx context.Context) error {
		op, err := w.operation(ctx, name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(op.Status.Conditions, condition)
		if op.Status.Phase != phase || c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason ||
			op.Status.ObservedGeneration != op.Generation {
			return fmt.Errorf("want %s with %s=True/%s, have %s with %+v", phase, condition, reason, op.Status.Phase, op.Status.Conditions)
		}
		found = op
		return nil
	})
	return found
}

// get reads an object of this namespace.
func (w *world) get(
	ctx context.Context, kind schema.GroupVersionKind, name string,
) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	return live, w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, live)
}

// play waits for an object and writes its status as its controller would: through the status subresource, if the kind
// has one.
func (w *world) play(kind schema.GroupVersionKind, name string, status string) *unstructured.Unstructured {
	w.Helper()
	var played *unstructured.Unstructured
	kubetest.Eventually(w, "status of "+kind.Kind+" "+name, func(ctx context.Context) error {
		live, err := w.get(ctx, kind, name)
		if err != nil {
			return err
		}
		var values map[string]any
		if err := json.Unmarshal([]byte(status), &values); err != nil {
			w.Fatal(err)
		}
		live.Object["status"], played = values, live
		if kind.Group == "velero.io" || kind.Group == "argoproj.io" {
			return w.player.Update(ctx, live)
		}
		return w.player.Status().Update(ctx, live)
	})
	return played
}

// output returns an output of an operation.
func (w *world) output(op *opsv1alpha1.Operation, name string) string {
	w.Helper()
	var all map[string]string
	if op.Status.Outputs == nil {
		return ""
	}
	if err := json.Unmarshal(op.Status.Outputs.Raw, &all); err != nil {
		w.Fatal(err)
	}
	return all[name]
}

// writes returns the operator's writes in this namespace to operations and engines' objects.
func (w *world) writes() []kubetest.Write {
	return w.server.Writes(w, func(write kubetest.Write) bool {
		return write.Agent == w.agent() && write.Namespace == w.namespace && write.Resource != "events" && write.Resource != "applicationinstances"
	})
}
