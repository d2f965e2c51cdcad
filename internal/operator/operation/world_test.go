package operation

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
)

var epoch = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

var secret = []byte("a secret of both sides")

// world is a cluster in memory: operations, one target, and the objects of engines. It carries out plans as the
// controller does, and can stop between any two steps.
type world struct {
	now        time.Time
	target     *appsv1alpha1.ApplicationInstance
	ops        []*opsv1alpha1.Operation
	objects    map[string]*unstructured.Unstructured
	created    map[string]int // number of creations by object name
	uids       int
	missing    bool // the kinds of the engines are not installed
	refused    *apply.Refusal
	release    *engine.Release
	secretless []engine.Need    // needed objects that don't exist
	foreign    []apply.Conflict // the API server's answer to an apply
	velero     string
	conflicts  []string // operations that wrongly ran together
}

func newWorld() *world {
	return &world{
		now: epoch, objects: map[string]*unstructured.Unstructured{}, created: map[string]int{},
		target: &appsv1alpha1.ApplicationInstance{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "uid-web", Generation: 1, Annotations: map[string]string{
				"ops.vworkspace.io/backup": "velero, volsync", "ops.vworkspace.io/restore": "velero", "ops.vworkspace.io/upgrade": "helm",
				"ops.vworkspace.io/runcommand": "job", "ops.vworkspace.io/migration": "helmHookJob", "ops.vworkspace.io/runbook": "workflow",
			}},
			Spec: appsv1alpha1.ApplicationInstanceSpec{
				Chart:   &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceHelm, Name: "web", Version: "1.0.0"},
				Release: &appsv1alpha1.Release{Name: "web", Namespace: "prod"},
				Values:  &appsv1alpha1.Values{Source: appsv1alpha1.ValuesInline, Inline: &runtime.RawExtension{Raw: []byte(`{"replicas":1}`)}},
			},
		},
	}
}

// operation adds an operation, created now.
func (w *world) operation(
	name string, kind opsv1alpha1.OperationType, by opsv1alpha1.Engine, parameters string,
) *opsv1alpha1.Operation {
	op := &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(w.now),
			Annotations: map[string]string{},
		},
		Spec: opsv1alpha1.OperationSpec{
			TargetRef: opsv1alpha1.TargetRef{APIVersion: "apps.vworkspace.io/v1alpha1", Kind: "ApplicationInstance", Name: "web"},
			Type:      kind, Engine: by,
		},
	}
	if parameters != "" {
		op.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
	}
	w.ops = append(w.ops, op)
	return op
}

func (w *world) find(name string) *opsv1alpha1.Operation {
	for _, op := range w.ops {
		if op.Name == name {
			return op
		}
	}
	return nil
}

func newObject(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace("prod")
	object.SetName(name)
	object.SetUID("uid-of-another")
	return object
}

func keyOf(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

func (w *world) input(op *opsv1alpha1.Operation) Input {
	in := Input{
		Now: w.now, ApprovalSecret: secret, NotInstalled: w.missing, Refused: w.refused, Missing: w.secretless,
		Conflicts: w.foreign,
	}
	in.Operation, in.Target, in.ClusterID, in.VeleroNamespace, in.Release = op.DeepCopy(), w.target, "c-1", w.velero, w.release
	for _, other := range w.ops {
		in.Others = append(in.Others, *other.DeepCopy())
	}
	if subject, err := SubjectOf(in.Request); err == nil {
		in.Observed = w.objects[keyOf(subject.Kind, subject.Namespace, subject.Name)].DeepCopy()
	}
	return in
}

// reconcile decides, and carries out at most a number of the plan's steps.
func (w *world) reconcile(op *opsv1alpha1.Operation, most int) Plan {
	plan := Decide(w.input(op))
	steps := w.steps(op, plan)
	for _, step := range steps[:min(most, len(steps))] {
		step()
	}
	return plan
}

func (w *world) steps(op *opsv1alpha1.Operation, plan Plan) (steps []func()) {
	if plan.Finalizer && op.DeletionTimestamp == nil && !slices.Contains(op.Finalizers, identity.FinalizerOperation) {
		steps = append(steps, func() { op.Finalizers = append(op.Finalizers, identity.FinalizerOperation) })
	}
	steps = append(steps, func() { w.write(op, plan.Status) })
	if plan.Apply != nil {
		steps = append(steps, func() { w.apply(plan.Apply) })
	}
	if plan.Delete != nil {
		steps = append(steps, func() {
			delete(w.objects, keyOf(plan.Delete.GetKind(), plan.Delete.GetNamespace(), plan.Delete.GetName()))
		})
	}
	if !plan.Finalizer {
		steps = append(steps, func() {
			w.ops = slices.DeleteFunc(w.ops, func(other *opsv1alpha1.Operation) bool { return other == op })
		})
	}
	return steps
}

// write writes a status, and records operations that wrongly run together.
func (w *world) write(op *opsv1alpha1.Operation, status opsv1alpha1.OperationStatus) {
	starts := op.Status.StartedAt == nil && status.StartedAt != nil
	for _, other := range w.ops {
		if starts && other != op && Underway(other) && Conflicts(op.Spec.Type, other.Spec.Type) {
			w.conflicts = append(w.conflicts, fmt.Sprintf("%s %s started while %s %s ran", op.Spec.Type, op.Name, other.Spec.Type, other.Name))
		}
	}
	op.Status = *status.DeepCopy()
}

// apply creates an object, or leaves an existing one alone: an operation always applies the same.
func (w *world) apply(object *unstructured.Unstructured) {
	key := keyOf(object.GetKind(), object.GetNamespace(), object.GetName())
	if w.objects[key] != nil || len(w.foreign) > 0 {
		return
	}
	w.uids++
	w.created[key]++
	object = object.DeepCopy()
	object.SetUID(types.UID(fmt.Sprintf("object-%d", w.uids)))
	w.objects[key] = object
}

// object returns the object of an operation, or nil.
func (w *world) object(op *opsv1alpha1.Operation) *unstructured.Unstructured {
	if ref := op.Status.EngineRef; ref != nil {
		return w.objects[keyOf(ref.Kind, ref.Namespace, ref.Name)]
	}
	return nil
}

// flux writes the HelmRelease as the controller of ApplicationInstance does, with a status as Flux writes it.
func (w *world) flux(ready bool) {
	overlay := OverlayOf(w.target, w.list())
	status, reason := "True", "UpgradeSucceeded"
	if !ready {
		status, reason = "False", "UpgradeFailed"
	}
	conditions := []any{map[string]any{"type": "Ready", "status": status, "reason": reason, "message": "from Flux"}}
	spec := map[string]any{"chart": map[string]any{"spec": map[string]any{"version": overlay.Version}}}
	if overlay.Values != nil {
		spec["values"] = overlay.Values
	}
	w.objects[keyOf("HelmRelease", "prod", "web")] = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
		"metadata": map[string]any{"name": "web", "namespace": "prod", "uid": "uid-release"},
		"spec":     spec,
		"status": map[string]any{
			"conditions": conditions, "lastAttemptedRevision": overlay.Version,
			"history": []any{map[string]any{"name": "web", "version": int64(1), "chartVersion": overlay.Version}},
		},
	}}
}

func (w *world) list() (all []opsv1alpha1.Operation) {
	for _, op := range w.ops {
		all = append(all, *op)
	}
	return all
}
