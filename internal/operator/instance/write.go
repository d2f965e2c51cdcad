package instance

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
)

const owner = client.FieldOwner(identity.FieldManager)

// refusedError is an apply that another field manager prevents.
type refusedError struct {
	refusal Refusal
	err     error
}

func (e *refusedError) Error() string { return e.err.Error() }

func (e *refusedError) Unwrap() error { return e.err }

// childNames returns the names of an instance's children, by kind.
func childNames(instance *appsv1alpha1.ApplicationInstance) map[schema.GroupVersionKind]string {
	release := instance.Spec.Release.Name
	return map[schema.GroupVersionKind]string{
		kindHelmRelease: release, kindOCIRepository: identity.ChartSource(release),
		kindHelmRepository: identity.ChartSource(release),
	}
}

// applyObject applies an object and returns the result. It takes over the fields of the managers in takeOver.
func (r *Reconciler) applyObject(
	ctx context.Context, wanted *unstructured.Unstructured, takeOver []string,
) (*unstructured.Unstructured, error) {
	live := wanted.DeepCopy()
	if err := apply.Object(ctx, r.Client, live, takeOver); err != nil {
		return nil, asRefused(fmt.Errorf("apply %s %s: %w", wanted.GetKind(), wanted.GetName(), err), wanted)
	}
	return live, nil
}

// applyStatus applies the status subresource. Its resource version keeps an outdated decision from being written.
func (r *Reconciler) applyStatus(
	ctx context.Context, instance *appsv1alpha1.ApplicationInstance, status appsv1alpha1.ApplicationInstanceStatus,
) error {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("status of %s: %w", instance.Name, err)
	}
	wanted := reference(instance)
	wanted.SetResourceVersion(instance.ResourceVersion)
	wanted.Object["status"] = values
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner); err != nil {
		return asRefused(fmt.Errorf("apply the status of %s: %w", instance.Name, err), wanted)
	}
	instance.ResourceVersion = wanted.GetResourceVersion()
	return nil
}

// reference returns the instance's object with nothing to apply. Its UID keeps an apply from creating another object.
func reference(instance *appsv1alpha1.ApplicationInstance) *unstructured.Unstructured {
	wanted := object(kindInstance, instance.Namespace, instance.Name)
	wanted.SetUID(instance.UID)
	return wanted
}

// stored returns the instance's object with its finalizers, as last read or written.
func stored(instance *appsv1alpha1.ApplicationInstance) *unstructured.Unstructured {
	live := reference(instance)
	live.SetResourceVersion(instance.ResourceVersion)
	live.SetFinalizers(instance.Finalizers)
	return live
}

func (r *Reconciler) addFinalizer(ctx context.Context, instance *appsv1alpha1.ApplicationInstance) error {
	live := stored(instance)
	if err := apply.AddFinalizer(ctx, r.Client, live, identity.FinalizerInstance); err != nil {
		return err
	}
	instance.Finalizers, instance.ResourceVersion = live.GetFinalizers(), live.GetResourceVersion()
	return nil
}

// changed reports whether two statuses differ.
func changed(a, b appsv1alpha1.ApplicationInstanceStatus) bool {
	return !equality.Semantic.DeepEqual(sorted(a), sorted(b))
}

// asRefused converts the API server's answer to a conflicting apply into a refusedError. It returns other errors
// unchanged.
func asRefused(err error, wanted *unstructured.Unstructured) error {
	conflicts := apply.Conflicts(err)
	if len(conflicts) == 0 {
		return err
	}
	return &refusedError{Refusal{Kind: wanted.GetKind(), Name: wanted.GetName(), Conflicts: conflicts}, err}
}
