package controller

import (
	"context"
	"fmt"
	"slices"

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

// owner is the field manager of everything that the operator writes.
const owner = client.FieldOwner(identity.FieldManager)

// kindOperation is the kind of the reconciled objects.
var kindOperation = opsv1alpha1.GroupVersion.WithKind(opsv1alpha1.KindOperation)

// kindInstance is the kind of targets.
const kindInstance = "ApplicationInstance"

// creationError is the API server's refusal to create the operation's object.
type creationError struct {
	what string
	err  error
}

func (e *creationError) Error() string { return "create the " + e.what + ": " + e.err.Error() }
func (e *creationError) Unwrap() error { return e.err }

// execute carries out a plan. It returns a *creationError if the API server doesn't create the operation's object.
func (r *Reconciler) execute(ctx context.Context, op *opsv1alpha1.Operation, plan operation.Plan) error {
	has := slices.Contains(op.Finalizers, identity.FinalizerOperation)
	if plan.Finalizer && !has && op.DeletionTimestamp == nil {
		if err := apply.AddFinalizer(ctx, r.Client, op, identity.FinalizerOperation); err != nil {
			return err
		}
	}
	if !equality.Semantic.DeepEqual(op.Status, plan.Status) {
		if err := r.writeStatus(ctx, op, plan); err != nil {
			return err
		}
	}
	if plan.Apply != nil {
		made := client.ApplyConfigurationFromUnstructured(plan.Apply.DeepCopy())
		if err := r.Client.Apply(ctx, made, owner, client.DisableReadYourWritesConsistency); err != nil { // read live
			return &creationError{fmt.Sprintf("%s %s/%s", plan.Apply.GetKind(), plan.Apply.GetNamespace(), plan.Apply.GetName()), err}
		}
	}
	if plan.Delete != nil {
		if err := r.delete(ctx, plan.Delete); err != nil {
			return err
		}
	}
	if !plan.Finalizer && has {
		return apply.RemoveFinalizer(ctx, r.Client, op, identity.FinalizerOperation)
	}
	return nil
}

// reference returns the operation with nothing to apply. Its UID keeps an apply from creating another operation, and
// its resource version keeps an outdated decision from being written.
func reference(op *opsv1alpha1.Operation) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(kindOperation)
	made.SetNamespace(op.Namespace)
	made.SetName(op.Name)
	made.SetUID(op.UID)
	made.SetResourceVersion(op.ResourceVersion)
	return made
}

// writeStatus applies the status and then reports the transitions. If the process ends in between, the next one reports
// them.
func (r *Reconciler) writeStatus(ctx context.Context, op *opsv1alpha1.Operation, plan operation.Plan) error {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&plan.Status)
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	wanted := reference(op)
	wanted.Object["status"] = values
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner); err != nil {
		r.Events.Failed(op, plan.Events, err)
		return fmt.Errorf("write the status: %w", err)
	}
	op.ResourceVersion = wanted.GetResourceVersion()
	if r.Ended != nil && plan.Status.Phase.Terminal() && !op.Status.Phase.Terminal() {
		r.Ended.WithLabelValues(string(op.Spec.Type), string(op.Spec.Engine), string(plan.Status.Phase)).Inc()
	}
	r.Events.Record(ctx, op, kindOperation, plan.Events)
	return nil
}

// delete deletes exactly the observed object, and then its pods. The object is read from the API server, never from a
// cache, so no read waits for its deletion.
func (r *Reconciler) delete(ctx context.Context, observed *unstructured.Unstructured) error {
	uid := observed.GetUID()
	err := r.Client.Delete(ctx, observed.DeepCopy(),
		client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid},
		client.DisableReadYourWritesConsistency)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // it is gone, or a new one has its name
		return fmt.Errorf("delete the %s %s/%s: %w", observed.GetKind(), observed.GetNamespace(), observed.GetName(), err)
	}
	return nil
}

func fromUnstructured(object *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}
