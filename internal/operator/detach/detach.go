package detach

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
)

// Options configure Run.
type Options struct {
	// Namespace is the operator's namespace, with its lease. Required.
	Namespace string
	// In is the namespace whose objects are detached. Default: all namespaces, and the Clusters.
	In string
	// Now is the time. Required.
	Now time.Time
	// Out receives a line for each object. Required.
	Out io.Writer
}

// The kinds owned by instances. Deleting a HelmRelease makes Flux uninstall the release.
var children = []schema.GroupVersionKind{
	{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"},
	{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"},
	{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"},
}

// The operator's kinds, and the finalizer of each.
var own = []struct {
	kind      schema.GroupVersionKind
	finalizer string
}{
	{appsv1alpha1.GroupVersion.WithKind(appsv1alpha1.Kind), identity.FinalizerInstance},
	{opsv1alpha1.GroupVersion.WithKind(opsv1alpha1.KindOperation), identity.FinalizerOperation},
	{opsv1alpha1.GroupVersion.WithKind("Cluster"), identity.FinalizerCluster},
}

// Run detaches the objects of a cluster. The children come first: a deleting instance goes once it has no finalizer,
// and Kubernetes then deletes what it owns. Run can be repeated after a failure.
func Run(ctx context.Context, c client.Client, opts Options) error {
	if err := idle(ctx, c, opts); err != nil {
		return err
	}
	if err := unguarded(ctx, c); err != nil {
		return err
	}
	for _, kind := range children {
		err := each(ctx, c, kind, opts.In, func(live *unstructured.Unstructured) error {
			return disown(ctx, c, live, opts.Out)
		})
		if err != nil {
			return err
		}
	}
	for _, one := range own {
		err := each(ctx, c, one.kind, opts.In, func(live *unstructured.Unstructured) error {
			if !slices.Contains(live.GetFinalizers(), one.finalizer) {
				return nil
			}
			if err := apply.RemoveFinalizer(ctx, c, live, one.finalizer); err != nil {
				return err
			}
			return say(opts.Out, live, "the finalizer is removed")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// idle returns an error if an operator holds the lease: it would add its finalizers again.
func idle(ctx context.Context, c client.Client, opts Options) error {
	lease := &coordinationv1.Lease{}
	err := c.Get(ctx, client.ObjectKey{Namespace: opts.Namespace, Name: identity.LeaderLease}, lease)
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read the lease %s/%s: %w", opts.Namespace, identity.LeaderLease, err)
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil ||
		spec.LeaseDurationSeconds == nil {
		return nil
	}
	if opts.Now.Before(spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second)) {
		return fmt.Errorf("the operator %s runs, and would take its objects back: "+
			"kubectl -n %s scale deployment tend-operator --replicas=0", *spec.HolderIdentity, opts.Namespace)
	}
	return nil
}

// unguarded returns an error if the API server asks the operator's webhooks about each change: nobody answers, so no
// finalizer could be removed. A person who may not read that finds out with the first finalizer.
func unguarded(ctx context.Context, c client.Client) error {
	stored := &admissionv1.ValidatingWebhookConfiguration{}
	err := c.Get(ctx, client.ObjectKey{Name: identity.WebhookConfiguration}, stored)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read the ValidatingWebhookConfiguration %s: %w", identity.WebhookConfiguration, err)
	}
	for _, webhook := range stored.Webhooks {
		if webhook.FailurePolicy == nil || *webhook.FailurePolicy == admissionv1.Fail {
			return fmt.Errorf("the API server refuses each change while no operator answers its webhooks: "+
				"kubectl delete validatingwebhookconfiguration %s", identity.WebhookConfiguration)
		}
	}
	return nil
}

// each calls do for each object of a kind. It finds none if the kind is not served, or if it has no namespaces and
// namespace is set.
func each(
	ctx context.Context, c client.Client, kind schema.GroupVersionKind, namespace string,
	do func(*unstructured.Unstructured) error,
) error {
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look up %s: %w", kind.Kind, err)
	}
	if namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	for i := range list.Items {
		if err := do(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// disown removes the instance from the owners of an object, and keeps the other owners.
func disown(ctx context.Context, c client.Client, live *unstructured.Unstructured, out io.Writer) error {
	owners := live.GetOwnerReferences()
	left := slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool {
		group, err := schema.ParseGroupVersion(owner.APIVersion)
		return err == nil && group.Group == appsv1alpha1.GroupVersion.Group && owner.Kind == appsv1alpha1.Kind
	})
	if len(left) == len(owners) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "ownerReferences": left,
		"annotations": map[string]any{identity.AnnotationIntent: nil}, // a returning operator applies the object and owns it again
	}})
	if err != nil {
		return err
	}
	err = c.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(identity.FieldManager))
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("detach %s %s/%s: %w", live.GetKind(), live.GetNamespace(), live.GetName(), err)
	}
	return say(out, live, "belongs to no instance now")
}

func say(out io.Writer, live *unstructured.Unstructured, what string) error {
	name := live.GetName()
	if live.GetNamespace() != "" {
		name = live.GetNamespace() + "/" + name
	}
	_, err := fmt.Fprintf(out, "%s %s: %s\n", live.GetKind(), name, what)
	return err
}
