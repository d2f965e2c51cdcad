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
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/gate"
	"tend.dev/tend/internal/operator/operation"
)

// observe reads what the decision depends on.
func (r *Reconciler) observe(ctx context.Context, op *opsv1alpha1.Operation) (operation.Input, error) {
	in := operation.Input{ApprovalSecret: r.ApprovalSecret, Now: r.Now()}
	in.Operation, in.VeleroNamespace = op, r.VeleroNamespace
	over := op.Status.Phase.Terminal()
	if over && op.DeletionTimestamp == nil {
		return in, nil // nothing concerns it
	}
	var err error
	if in.Target, err = r.target(ctx, op); err != nil {
		return in, err
	}
	if in.ClusterID, err = r.ClusterID(ctx); err != nil {
		return in, err
	}
	if op.Status.StartedAt == nil {
		namespace, err := gate.Namespace(ctx, r.Client, op.Namespace)
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
	subject, err := operation.SubjectOf(in.Request)
	if err != nil {
		return in, nil //nolint:nilerr // Decide finds the same, and says so in the status
	}
	if in.Observed, in.NotInstalled, err = r.subject(ctx, subject); err != nil {
		return in, err
	}
	if op.Status.StartedAt == nil {
		if in.MissingSecrets, err = r.missing(ctx, op); err != nil {
			return in, err
		}
	}
	if op.Spec.Engine == opsv1alpha1.EngineHelmHookJob && in.Observed == nil && !over {
		in.Release, err = r.release(ctx, in.Target)
	}
	return in, err
}

func (r *Reconciler) target(ctx context.Context, op *opsv1alpha1.Operation) (*appsv1alpha1.ApplicationInstance, error) {
	name, reader := op.Spec.TargetRef.Name, client.Reader(r.Client)
	if op.Status.StartedAt == nil { // what the target declares at the start is recorded
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

// subject reads an object, and says whether its kind is missing.
func (r *Reconciler) subject(ctx context.Context, s engine.Subject) (observed *unstructured.Unstructured, missing bool, err error) {
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

// missing returns those Secrets that the operation's parameters name and that do not exist. Of each no more than that is read.
func (r *Reconciler) missing(ctx context.Context, op *opsv1alpha1.Operation) (names []string, err error) {
	for _, name := range engine.Secrets(op) {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: op.Namespace, Name: name}, secret)
		switch {
		case apierrors.IsNotFound(err):
			names = append(names, name)
		case err != nil:
			return nil, fmt.Errorf("read the Secret %s: %w", name, err)
		}
	}
	return names, nil
}

// release reads the target's deployed Helm release; nil if there is none. Of all Secrets it reads the one that Flux names.
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
