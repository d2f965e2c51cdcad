package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/operation"
)

// owner is the field manager of all that the operator writes.
const owner = client.FieldOwner(identity.FieldManager)

// kindInstance is the kind of targets.
const kindInstance = "ApplicationInstance"

// execute carries out a plan. It returns what the API server says if it refuses the object as such.
func (r *Reconciler) execute(ctx context.Context, op *opsv1alpha1.Operation, plan operation.Plan) (refused, err error) {
	has := slices.Contains(op.Finalizers, identity.FinalizerOperation)
	if plan.Finalizer && !has && op.DeletionTimestamp == nil {
		if err := apply.AddFinalizer(ctx, r.Client, op, identity.FinalizerOperation); err != nil {
			return nil, err
		}
	}
	if !equality.Semantic.DeepEqual(op.Status, plan.Status) {
		if err := r.writeStatus(ctx, op, plan); err != nil {
			return nil, err
		}
	}
	if plan.Apply != nil {
		err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(plan.Apply.DeepCopy()), owner)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return err, nil
		}
		if err != nil {
			return nil, fmt.Errorf("create the %s %s/%s: %w", plan.Apply.GetKind(), plan.Apply.GetNamespace(), plan.Apply.GetName(), err)
		}
	}
	if plan.Delete != nil {
		if err := r.delete(ctx, plan.Delete); err != nil {
			return nil, err
		}
	}
	if !plan.Finalizer && has {
		return nil, apply.RemoveFinalizer(ctx, r.Client, op, identity.FinalizerOperation)
	}
	return nil, nil
}

// reference returns the operation without anything applied. Its UID keeps an apply from creating another one, and its
// resource version keeps a decision that was made from an old one from being written.
func reference(op *opsv1alpha1.Operation) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(opsv1alpha1.GroupVersion.WithKind(opsv1alpha1.KindOperation))
	made.SetNamespace(op.Namespace)
	made.SetName(op.Name)
	made.SetUID(op.UID)
	made.SetResourceVersion(op.ResourceVersion)
	return made
}

// writeStatus applies the status, and then reports the transitions. An event is lost if the process ends in between: the
// conditions are what counts.
func (r *Reconciler) writeStatus(ctx context.Context, op *opsv1alpha1.Operation, plan operation.Plan) error {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&plan.Status)
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	wanted := reference(op)
	wanted.Object["status"] = values
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	op.ResourceVersion = wanted.GetResourceVersion()
	if r.Ended != nil && plan.Status.Phase.Terminal() && !op.Status.Phase.Terminal() {
		r.Ended.WithLabelValues(string(op.Spec.Type), string(op.Spec.Engine), string(plan.Status.Phase)).Inc()
	}
	for _, event := range plan.Events {
		kind := corev1.EventTypeNormal
		if event.Warning {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(op, nil, kind, event.Reason, "Reconcile", "%s", event.Message)
	}
	return nil
}

// delete deletes the very object that was observed, and its pods after it.
func (r *Reconciler) delete(ctx context.Context, observed *unstructured.Unstructured) error {
	uid := observed.GetUID()
	err := r.Client.Delete(ctx, observed.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // gone, or another one has its name
		return fmt.Errorf("delete the %s %s/%s: %w", observed.GetKind(), observed.GetNamespace(), observed.GetName(), err)
	}
	return nil
}

func fromUnstructured(object *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}
