package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/operation"
)

// observe reads everything that the decision depends on.
func (r *Reconciler) observe(ctx context.Context, op *opsv1alpha1.Operation) (operation.Input, error) {
	in := operation.Input{Now: r.Now()}
	in.Operation = op
	over := op.Status.Phase.Terminal()
	if over && op.DeletionTimestamp == nil {
		return in, nil // nothing else matters
	}
	var err error
	if in.Target, err = r.target(ctx, op); err != nil {
		return in, err
	}
	if in.ClusterID, err = r.ClusterID(ctx); err != nil {
		return in, err
	}
	if op.Status.StartedAt == nil {
		if in.ApprovalSecret, err = r.ApprovalSecret(ctx); err != nil {
			return in, err
		}
		namespace, err := bounds.Namespace(ctx, r.Client, op.Namespace)
		if err != nil {
			return in, err
		}
		in.Denied = r.Policy.Operation(namespace, in.ClusterID, op)
	}
	if op.Status.StartedAt == nil || over {
		var all opsv1alpha1.OperationList
		if err := r.Live.List(ctx, &all, client.InNamespace(op.Namespace)); err != nil {
			return in, fmt.Errorf("list the operations of %s: %w", op.Namespace, err)
		}
		in.Others = all.Items
	}
	if err := r.place(ctx, &in); err != nil {
		return in, err
	}
	subject, err := operation.SubjectOf(in.Request)
	if err != nil {
		return in, nil //nolint:nilerr // Decide finds the same fault and reports it
	}
	if in.Observed, in.NotInstalled, err = r.subject(ctx, subject); err != nil || over {
		return in, err
	}
	return in, r.surroundings(ctx, &in)
}

// surroundings reads the objects that the operation needs, and details that its own object lacks.
func (r *Reconciler) surroundings(ctx context.Context, in *operation.Input) (err error) {
	op := in.Operation
	if op.Status.StartedAt == nil && !in.NotInstalled {
		if in.Missing, err = r.missing(ctx, op); err != nil {
			return err
		}
	}
	if class := engine.SnapshotClassOf(op); class != "" && in.Observed == nil {
		if in.SnapshotDriver, err = r.driver(ctx, class); err != nil {
			return err
		}
	}
	if op.Spec.Engine == opsv1alpha1.EngineHelmHookJob && in.Observed == nil {
		if in.Release, err = r.release(ctx, in.Target); err != nil {
			return err
		}
	}
	if in.Observed != nil && in.Observed.GroupVersionKind() == engine.KindJob {
		in.Pods, err = r.pods(ctx, in.Observed.GetNamespace(), string(op.UID))
	}
	return err
}

// target returns the operation's target; nil if there is none. The start records what the target declares, and an
// Upgrade ends for good when that changes: an older state from the cache must not count.
func (r *Reconciler) target(ctx context.Context, op *opsv1alpha1.Operation) (*appsv1alpha1.ApplicationInstance, error) {
	name, reader := op.Spec.TargetRef.Name, client.Reader(r.Client)
	if op.Status.StartedAt == nil || op.Spec.Engine == opsv1alpha1.EngineHelm {
		reader = r.Live
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(appsv1alpha1.GroupVersion.WithKind(kindInstance))
	if err := reader.Get(ctx, client.ObjectKey{Namespace: op.Namespace, Name: name}, live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the target %s: %w", name, err)
	}
	target := &appsv1alpha1.ApplicationInstance{}
	if err := fromUnstructured(live, target); err != nil {
		return nil, fmt.Errorf("read the target %s: %w", name, err)
	}
	return target, nil
}

// subject reads an object, and reports whether its kind is missing.
func (r *Reconciler) subject(
	ctx context.Context, s engine.Subject,
) (observed *unstructured.Unstructured, missing bool, err error) {
	observed = &unstructured.Unstructured{}
	observed.SetGroupVersionKind(s.GroupVersionKind)
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, observed)
	switch {
	case meta.IsNoMatchError(err):
		return nil, true, nil
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read the %s %s/%s: %w", s.Kind, s.Namespace, s.Name, err)
	}
	return observed, false, nil
}

// missing returns the needed objects that don't exist. It reads only their metadata.
func (r *Reconciler) missing(ctx context.Context, op *opsv1alpha1.Operation) (absent []engine.Need, err error) {
	for _, need := range engine.Needs(op) {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(need.GroupVersionKind)
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: need.Namespace, Name: need.Name}, object)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			absent = append(absent, need)
		case err != nil:
			return nil, fmt.Errorf("read the %s %s: %w", need.Kind, need.Name, err)
		}
	}
	return absent, nil
}

// place finds the namespace of Velero. A started operation keeps its namespace.
func (r *Reconciler) place(ctx context.Context, in *operation.Input) error {
	op := in.Operation
	switch {
	case op.Spec.Engine != opsv1alpha1.EngineVelero:
		return nil
	case op.Status.EngineRef != nil:
		in.VeleroNamespace = op.Status.EngineRef.Namespace
		return nil
	case r.VeleroNamespace != "":
		in.VeleroNamespace = r.VeleroNamespace
		return nil
	}
	locations := &metav1.PartialObjectMetadataList{}
	locations.SetGroupVersionKind(engine.KindStorageLocation)
	if err := r.Live.List(ctx, locations); meta.IsNoMatchError(err) {
		return nil // Velero is not installed; the missing kind Backup shows it too
	} else if err != nil {
		return fmt.Errorf("list the BackupStorageLocations: %w", err)
	}
	namespaces := make([]string, len(locations.Items))
	for i := range locations.Items {
		namespaces[i] = locations.Items[i].Namespace
	}
	in.VeleroNamespace, in.NoPlace = engine.VeleroNamespace(op.Namespace, namespaces)
	return nil
}

// driver returns the driver of a VolumeSnapshotClass; empty if there is no such class.
func (r *Reconciler) driver(ctx context.Context, class string) (string, error) {
	live, _, err := r.subject(ctx, engine.Subject{GroupVersionKind: engine.KindSnapshotClass, Name: class})
	if err != nil || live == nil {
		return "", err
	}
	driver, _, _ := unstructured.NestedString(live.Object, "driver")
	return driver, nil
}

// maxPods bounds the pods read of a Job: one of the first few has the reason of its failure.
const maxPods = 20

// pods reads the pods of an operation's Job.
func (r *Reconciler) pods(ctx context.Context, namespace, uid string) ([]engine.Pod, error) {
	var list corev1.PodList
	err := r.Live.List(
		ctx, &list, client.InNamespace(namespace), client.MatchingLabels{identity.LabelOperation: uid}, client.Limit(maxPods),
	)
	if err != nil {
		return nil, fmt.Errorf("list the pods of the Job in %s: %w", namespace, err)
	}
	pods := make([]engine.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = engine.PodOf(&list.Items[i])
	}
	return pods, nil
}

// release reads the target's deployed Helm release, or nil. It reads only the Secret that Flux names.
func (r *Reconciler) release(ctx context.Context, target *appsv1alpha1.ApplicationInstance) (*engine.Release, error) {
	if target == nil || target.Spec.Release == nil {
		return nil, nil
	}
	installed, _, err := r.subject(ctx, engine.Subject{
		GroupVersionKind: engine.KindHelmRelease, Namespace: target.Namespace, Name: target.Spec.Release.Name,
	})
	if err != nil || installed == nil {
		return nil, err
	}
	namespace, name := engine.ReleaseSecret(installed)
	if name == "" {
		return nil, nil
	}
	var secret corev1.Secret
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the Helm release %s/%s: %w", namespace, name, err)
	}
	release, err := engine.ReadRelease(secret.Data[engine.ReleaseKey])
	if err != nil {
		return nil, fmt.Errorf("the Secret %s/%s: %w", namespace, name, err)
	}
	return &release, nil
}
