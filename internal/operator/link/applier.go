package link

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/puller"
)

// owner is the field manager of everything that the operator writes.
const owner = client.FieldOwner(identity.FieldManager)

// The kinds that a control plane may write, and the kind of the connection.
var (
	kindInstance  = appsv1alpha1.GroupVersion.WithKind(appsv1alpha1.Kind)
	kindOperation = opsv1alpha1.GroupVersion.WithKind(opsv1alpha1.KindOperation)
)

const kindCluster = "Cluster"

// applier carries out jobs. A control plane may write ApplicationInstances and Operations: their labels, annotations
// and specs. It implements puller.Applier.
type applier struct {
	// Client writes, and reads from the cache. Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// ClusterID is the identity of the registered cluster.
	ClusterID string
}

// Apply applies a manifest. With force it takes back fields that others have changed.
func (a *applier) Apply(ctx context.Context, manifest json.RawMessage, force bool) (api.ClusterResource, error) {
	given := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(manifest, &given.Object); err != nil { // keeps integers as integers
		return api.ClusterResource{}, fmt.Errorf("the payload is not a manifest: %w", err)
	}
	requested := given.GetAnnotations()[identity.AnnotationRequestedAt]
	wanted, err := a.wanted(given)
	if err != nil {
		return api.ClusterResource{}, err
	}
	if force {
		err = a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner, client.ForceOwnership)
	} else {
		err = a.applyFor(ctx, wanted)
	}
	if err != nil {
		if conflicts := apply.Conflicts(err); len(conflicts) > 0 {
			return api.ClusterResource{}, a.conflictOf(ctx, wanted, conflicts)
		}
		return api.ClusterResource{}, fmt.Errorf("apply %s %s/%s: %w", wanted.GetKind(), wanted.GetNamespace(), wanted.GetName(), passing(err))
	}
	if err := a.request(ctx, wanted, requested); err != nil {
		return api.ClusterResource{}, passing(err)
	}
	if wanted.GetDeletionTimestamp() != nil {
		return api.ClusterResource{}, fmt.Errorf("%s %s/%s is being deleted: apply it again when it is gone",
			wanted.GetKind(), wanted.GetNamespace(), wanted.GetName())
	}
	return resourceOf(wanted), nil
}

// request requests a reconcile now through an annotation. No field manager owns it: people may write it too.
func (a *applier) request(ctx context.Context, live *unstructured.Unstructured, at string) error {
	if at == "" || live.GetAnnotations()[identity.AnnotationRequestedAt] == at {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "annotations": map[string]string{identity.AnnotationRequestedAt: at},
	}})
	if err != nil {
		return err
	}
	if err := a.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), owner); err != nil {
		return fmt.Errorf("request a reconcile of %s %s/%s: %w", live.GetKind(), live.GetNamespace(), live.GetName(), err)
	}
	return nil
}

// applyFor applies an object, and takes over the fields of the managers that the object names.
func (a *applier) applyFor(ctx context.Context, wanted *unstructured.Unstructured) error {
	takeOver, err := a.takeOver(ctx, wanted)
	if err != nil {
		return err
	}
	err = apply.Object(ctx, a.Client, wanted, takeOver)
	conflicts := apply.Conflicts(err)
	if len(conflicts) > 0 && !slices.ContainsFunc(conflicts, isSetting) && cancels(wanted) {
		return a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner, client.ForceOwnership)
	}
	return err
}

// cancelField is the annotation that ends an operation, as conflicts name it.
const cancelField = ".metadata.annotations." + identity.AnnotationCancel

// isSetting reports whether a conflict is about another field.
func isSetting(c apply.Conflict) bool { return c.Field != cancelField }

// cancels reports whether a manifest ends an operation. That is a request and not a setting: another one in the
// cluster, or a refusal of one, doesn't hold it up.
func cancels(wanted *unstructured.Unstructured) bool {
	return wanted.GetKind() == kindOperation.Kind && identity.Cancels(wanted.GetAnnotations())
}

// passing marks an error that doesn't concern the applied object: the API server didn't answer, is not ready or is
// overloaded. It leaves final refusals as they are, and also forbidden requests, as by a quota: the control plane sends
// those again at growing intervals.
func passing(err error) error {
	if refusal := apply.RefusalOf(err); err == nil || apierrors.IsForbidden(err) || refusal != nil && refusal.Final {
		return err
	}
	return fmt.Errorf("%w: %w", puller.ErrPassing, err)
}

// wanted returns the part of a manifest that is applied: its name, labels, annotations and spec. It adds the labels of
// the control plane's objects.
func (a *applier) wanted(given *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := allowed(given.GroupVersionKind()); err != nil {
		return nil, err
	}
	if given.GetNamespace() == "" {
		return nil, fmt.Errorf("%s %s has no namespace", given.GetKind(), given.GetName())
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	wanted.SetGroupVersionKind(given.GroupVersionKind())
	wanted.SetNamespace(given.GetNamespace())
	wanted.SetName(given.GetName())
	labels := given.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[identity.LabelManagedBy] = identity.ManagedBy
	if a.ClusterID != "" {
		labels[identity.LabelClusterID] = a.ClusterID
	}
	wanted.SetLabels(labels)
	annotations := given.GetAnnotations()
	delete(annotations, identity.AnnotationRequestedAt) // a request is made once, and not kept as a field
	wanted.SetAnnotations(annotations)
	if spec, ok := given.Object["spec"]; ok {
		wanted.Object["spec"] = spec
	}
	return wanted, nil
}

func allowed(kind schema.GroupVersionKind) error {
	if kind == kindInstance || kind == kindOperation {
		return nil
	}
	return fmt.Errorf("a control plane writes only ApplicationInstances and Operations, not %s %s", kind.GroupVersion(), kind.Kind)
}

// takeOver returns the managers whose fields a manifest takes over. It does so once: afterwards the object itself has
// the annotation.
func (a *applier) takeOver(ctx context.Context, wanted *unstructured.Unstructured) ([]string, error) {
	asked := wanted.GetAnnotations()[identity.AnnotationTakeOver]
	if asked == "" {
		return nil, nil
	}
	live, err := a.live(ctx, api.ClusterResource{
		APIVersion: wanted.GetAPIVersion(), Kind: wanted.GetKind(), Namespace: wanted.GetNamespace(), Name: wanted.GetName(),
	})
	if err != nil || live == nil || live.GetAnnotations()[identity.AnnotationTakeOver] == asked {
		return nil, err
	}
	return apply.Managers(asked), nil
}

// conflictOf returns the conflict of a job: the first manager, its fields, and the ways to resolve it.
func (a *applier) conflictOf(ctx context.Context, wanted *unstructured.Unstructured, conflicts []apply.Conflict) error {
	var fields []string
	for _, c := range conflicts {
		if c.Manager == conflicts[0].Manager {
			fields = append(fields, c.Field)
		}
	}
	managers := apply.ManagersOf(conflicts)
	next := fmt.Sprintf("to take the fields over, add the annotation %s = %q to the object and apply it",
		identity.AnnotationTakeOver, strings.Join(managers, ","))
	live, err := a.live(ctx, api.ClusterResource{
		APIVersion: wanted.GetAPIVersion(), Kind: wanted.GetKind(), Namespace: wanted.GetNamespace(), Name: wanted.GetName(),
	})
	if command := apply.GiveUp(live, managers); err == nil && command != "" {
		next += "; to give them up in the cluster: " + command
	}
	return &puller.ConflictError{Manager: conflicts[0].Manager, Field: strings.Join(fields, ", "), Next: next}
}

// Delete requests the deletion of a resource, if the control plane created it.
func (a *applier) Delete(ctx context.Context, ref api.ClusterResource) error {
	live, err := a.live(ctx, ref)
	if err != nil || live == nil {
		return err
	}
	if by := live.GetLabels()[identity.LabelManagedBy]; by != identity.ManagedBy {
		return fmt.Errorf("%s %s/%s is not deleted: the control plane didn't create it (no label %s=%s)",
			ref.Kind, ref.Namespace, ref.Name, identity.LabelManagedBy, identity.ManagedBy)
	}
	uid := live.GetUID()
	err = a.Client.Delete(ctx, live, client.Preconditions{UID: &uid},
		// No read waits for this: the object was read live, and caches that never saw it report no deletion.
		client.DisableReadYourWritesConsistency)
	if apierrors.IsConflict(err) { // a new one has its name, or the write was outdated
		now, unread := a.live(ctx, ref)
		if unread != nil || now == nil || now.GetUID() != uid {
			return unread
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s/%s: %w", ref.Kind, ref.Namespace, ref.Name, passing(err))
	}
	return nil
}

// live reads a resource from the API server. It returns nil if there is none.
func (a *applier) live(ctx context.Context, ref api.ClusterResource) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetAPIVersion(ref.APIVersion)
	live.SetKind(ref.Kind)
	if err := allowed(live.GroupVersionKind()); err != nil {
		return nil, err
	}
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s/%s: %w", ref.Kind, ref.Namespace, ref.Name, passing(err))
	}
	return live, nil
}

// Observe returns the state of a resource from the cache. Before it reports the resource as gone, it asks the API
// server: the cache may be stale.
func (a *applier) Observe(ctx context.Context, ref api.ClusterResource) (puller.Observation, error) {
	cached, err := watched(ref.Kind)
	if err != nil {
		return puller.Observation{}, err
	}
	err = a.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, cached)
	if err == nil {
		return observationOf(cached), nil
	}
	if !apierrors.IsNotFound(err) {
		return puller.Observation{}, err
	}
	live, err := a.live(ctx, ref)
	if err != nil || live == nil {
		return puller.Observation{}, err
	}
	return observationOf(live), nil
}

// watched returns an empty object of a kind, of the type that the controllers' cache uses.
func watched(kind string) (client.Object, error) {
	switch kind {
	case kindInstance.Kind:
		instance := &unstructured.Unstructured{}
		instance.SetGroupVersionKind(kindInstance)
		return instance, nil
	case kindOperation.Kind:
		return &opsv1alpha1.Operation{}, nil
	}
	return nil, fmt.Errorf("%s is not a kind that a control plane writes", kind)
}
