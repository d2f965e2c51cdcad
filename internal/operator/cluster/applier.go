package cluster

import (
	"context"
	"encoding/json"
	"fmt"
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
	"tend.dev/tend/internal/operator/agent"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
)

// owner is the field manager of all that the operator writes.
const owner = client.FieldOwner(identity.FieldManager)

// The kinds that a control plane may write, and that of the connection.
var (
	kindInstance  = appsv1alpha1.GroupVersion.WithKind(appsv1alpha1.Kind)
	kindOperation = opsv1alpha1.GroupVersion.WithKind(opsv1alpha1.KindOperation)
)

const kindCluster = "Cluster"

// applier does what jobs ask for. A control plane may write ApplicationInstances and Operations, and of these their labels,
// annotations and specs. It implements agent.Applier.
type applier struct {
	// Client writes, and reads from the cache. Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// ClusterID is the identity that the cluster is registered under.
	ClusterID string
}

// Apply applies a manifest. Force takes fields back that others have changed since they were applied.
func (a *applier) Apply(ctx context.Context, manifest json.RawMessage, force bool) (api.ClusterResource, error) {
	given := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(manifest, &given.Object); err != nil { // integers stay such
		return api.ClusterResource{}, fmt.Errorf("the payload is no manifest: %w", err)
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

// request asks for a reconcile now, by the annotation that a person may write too: nobody owns it.
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
		return fmt.Errorf("ask for a reconcile of %s %s/%s: %w", live.GetKind(), live.GetNamespace(), live.GetName(), err)
	}
	return nil
}

// applyFor applies an object, and takes over the fields of the managers that it names.
func (a *applier) applyFor(ctx context.Context, wanted *unstructured.Unstructured) error {
	takeOver, err := a.takeOver(ctx, wanted)
	if err != nil {
		return err
	}
	return apply.Object(ctx, a.Client, wanted, takeOver)
}

// passing marks an error that says nothing of what was to be applied: there was no answer, or one of a server that is not ready, or
// that was asked too much. An answer that refuses it for ever is left as it is,
// and so is one that forbids it, as a quota does: the control plane sends it again later and later.
func passing(err error) error {
	if refusal := apply.RefusalOf(err); err == nil || apierrors.IsForbidden(err) || refusal != nil && refusal.Final {
		return err
	}
	return fmt.Errorf("%w: %w", agent.ErrPassing, err)
}

// wanted returns what is applied of a manifest: its name, labels, annotations and spec, with the labels of the control plane's objects.
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
	delete(annotations, identity.AnnotationRequestedAt) // a request is made once, and is no field to be kept
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
	return fmt.Errorf("a control plane may write ApplicationInstances and Operations here, not %s %s", kind.GroupVersion(), kind.Kind)
}

// takeOver returns the managers whose fields a manifest asks to take over. It asks once: what it asks for is on the object then.
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

// conflictOf returns the conflict of a job: its fields, the first of their managers, and how they are had.
func (a *applier) conflictOf(ctx context.Context, wanted *unstructured.Unstructured, conflicts []apply.Conflict) error {
	var fields []string
	for _, c := range conflicts {
		if c.Manager == conflicts[0].Manager {
			fields = append(fields, c.Field)
		}
	}
	managers := apply.ManagersOf(conflicts)
	next := fmt.Sprintf("to take the fields over, give the object the annotation %s = %q and apply it",
		identity.AnnotationTakeOver, strings.Join(managers, ","))
	live, err := a.live(ctx, api.ClusterResource{
		APIVersion: wanted.GetAPIVersion(), Kind: wanted.GetKind(), Namespace: wanted.GetNamespace(), Name: wanted.GetName(),
	})
	if command := apply.GiveUp(live, managers); err == nil && command != "" {
		next += "; to give them up in the cluster: " + command
	}
	return &agent.ConflictError{Manager: conflicts[0].Manager, Field: strings.Join(fields, ", "), Next: next}
}

// Delete asks that a resource go, if it is the control plane's.
func (a *applier) Delete(ctx context.Context, ref api.ClusterResource) error {
	live, err := a.live(ctx, ref)
	if err != nil || live == nil {
		return err
	}
	if by := live.GetLabels()[identity.LabelManagedBy]; by != identity.ManagedBy {
		return fmt.Errorf("%s %s/%s is not the control plane's: it has no label %s=%s; it stays",
			ref.Kind, ref.Namespace, ref.Name, identity.LabelManagedBy, identity.ManagedBy)
	}
	uid := live.GetUID()
	err = a.Client.Delete(ctx, live, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // gone, or another one has its name
		return fmt.Errorf("delete %s %s/%s: %w", ref.Kind, ref.Namespace, ref.Name, passing(err))
	}
	return nil
}

// live reads a resource from the API server; nil if there is none.
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

// Observe returns how a resource is, as the cache has it. That it is gone is asked of the API server: the cache may be behind.
func (a *applier) Observe(ctx context.Context, ref api.ClusterResource) (agent.Observation, error) {
	cached, err := watched(ref.Kind)
	if err != nil {
		return agent.Observation{}, err
	}
	err = a.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, cached)
	if err == nil {
		return observationOf(cached), nil
	}
	if !apierrors.IsNotFound(err) {
		return agent.Observation{}, err
	}
	live, err := a.live(ctx, ref)
	if err != nil || live == nil {
		return agent.Observation{}, err
	}
	return observationOf(live), nil
}

// watched returns an empty object of a kind, of the type that the controllers' cache has it in.
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
