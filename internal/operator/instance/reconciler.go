package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/health"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/transition"
)

// +kubebuilder:rbac:groups=apps.vworkspace.io,resources=applicationinstances,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.vworkspace.io,resources=applicationinstances/status,verbs=patch
// +kubebuilder:rbac:groups=apps.vworkspace.io,resources=applicationinstances/finalizers,verbs=update
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations;clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=ocirepositories;helmrepositories,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=get;list;create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Reconciler reconciles ApplicationInstances. All fields but Policy, Live, Trees and References are required.
type Reconciler struct {
	// Client reads and writes. Instances and Flux's kinds are unstructured, in a cache that has the client's own
	// writes.
	Client client.Client
	// Live reads from the API server. Without it, messages about conflicts lack a command.
	Live client.Reader
	// ClusterID is the identity of the cluster.
	ClusterID clusterid.Source
	// Policy says which instances the operator may work on.
	Policy bounds.Policy
	// Served reports whether objects of a kind can be read.
	Served func(schema.GroupVersionKind) bool
	// Events writes the transitions.
	Events *transition.Recorder
	// Trees reads the objects of releases. Without it their health isn't known.
	Trees *health.Trees
	// References notices changes of objects with values. Without it Flux does, within minutes.
	References *References
	// Now returns the time.
	Now func() time.Time
}

// afterConflict is the wait after a status that was computed from an outdated instance: the cache catches up meanwhile.
const afterConflict = 50 * time.Millisecond

// Reconcile takes all steps for one instance that need no waiting.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	instance, err := readInstance(ctx, r.Client, request)
	if err != nil || instance == nil {
		if err == nil {
			r.Trees.Forget(request.NamespacedName)
		}
		return reconcile.Result{}, err
	}
	if !r.Events.Knows(instance.UID) { // the cache may lack a status that was written without an answer
		if instance, err = readInstance(ctx, r.Events.Live, request); err != nil || instance == nil {
			return reconcile.Result{}, err
		}
	}
	r.Events.CatchUp(ctx, instance, kindInstance, eventsOf(instance.Status.Conditions))
	observed, err := r.observe(ctx, instance)
	if err != nil {
		return reconcile.Result{}, err
	}
	result := Plan(instance, observed, r.Now())
	if result.AddFinalizer {
		if err := r.addFinalizer(ctx, instance); err != nil {
			return reconcile.Result{}, err
		}
	}
	var failure error
	if len(result.Apply) > 0 {
		failure = r.apply(ctx, result, observed)
		if failure != nil && observed.Failure == "" {
			return reconcile.Result{}, failure // the outcome is unknown: reconcile again
		}
		result = Plan(instance, observed, r.Now())
	}
	for _, live := range result.Delete {
		uid := live.GetUID()
		err := r.Client.Delete(ctx, live, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("delete %s %s: %w", live.GetKind(), live.GetName(), err)
		}
	}
	if err := r.ask(ctx, result.Request); err != nil {
		return reconcile.Result{}, err
	}
	r.References.Asked(request.NamespacedName, result.Request.Changed)
	r.watchTree(instance, result.Tree)
	err = r.report(ctx, instance, result)
	switch {
	case apierrors.IsConflict(err) && len(apply.Conflicts(err)) == 0:
		return reconcile.Result{RequeueAfter: afterConflict}, nil // changed by another writer since the read
	case err != nil:
		return reconcile.Result{}, err
	}
	if result.RemoveFinalizer {
		r.Events.Gone(instance.UID)
		return reconcile.Result{}, apply.RemoveFinalizer(ctx, r.Client, stored(instance), identity.FinalizerInstance)
	}
	return reconcile.Result{RequeueAfter: r.Events.After(instance.UID, result.After)}, failure
}

// readInstance returns an instance, or nil if it doesn't exist.
func readInstance(
	ctx context.Context, from client.Reader, request reconcile.Request,
) (*appsv1alpha1.ApplicationInstance, error) {
	stored := object(kindInstance, "", "")
	if err := from.Get(ctx, request.NamespacedName, stored); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	instance := &appsv1alpha1.ApplicationInstance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, instance); err != nil {
		return nil, fmt.Errorf("read ApplicationInstance %s: %w", request, err)
	}
	return instance, nil
}

// apply applies objects in order and stores the results in observed. It stops at the first refused one.
func (r *Reconciler) apply(ctx context.Context, result Result, observed *Observed) error {
	for _, child := range result.Apply {
		live, err := r.applyObject(ctx, child, result.TakeOver)
		var refused *refusedError
		switch {
		case err == nil:
			observed.put(live)
		case errors.As(err, &refused):
			refused.refusal.GiveUp = r.giveUp(ctx, child, refused.refusal.Conflicts)
			observed.Refused = append(observed.Refused, refused.refusal)
			return nil
		default:
			observed.failed(err, child.GroupVersionKind())
			return err
		}
	}
	return nil
}

// report writes a changed status, and then records the transitions.
func (r *Reconciler) report(ctx context.Context, instance *appsv1alpha1.ApplicationInstance, result Result) error {
	if !changed(instance.Status, result.Status) {
		return nil
	}
	if err := r.applyStatus(ctx, instance, result.Status); err != nil {
		r.Events.Failed(instance, result.Events, err)
		if _, ok := errors.AsType[*refusedError](err); ok {
			r.Events.Report(ctx, instance, kindInstance, Event{
				Warning: true, Reason: appsv1alpha1.BlockedFieldConflict, Condition: metav1.Condition{Type: "Status"},
				Message: limit("the status can't be written: "+err.Error(), 1024),
			})
		}
		return err
	}
	r.Events.Record(ctx, instance, kindInstance, result.Events)
	return nil
}

// denied returns the policy's refusal of an instance, or nil.
func (r *Reconciler) denied(
	ctx context.Context, instance *appsv1alpha1.ApplicationInstance,
) (*bounds.RefusalError, error) {
	id, err := r.ClusterID(ctx)
	if err != nil {
		return nil, err
	}
	namespace, err := bounds.Namespace(ctx, r.Client, instance.Namespace)
	if err != nil {
		return nil, err
	}
	return r.Policy.Instance(namespace, id, instance), nil
}

// observe returns everything that Plan depends on.
func (r *Reconciler) observe(ctx context.Context, instance *appsv1alpha1.ApplicationInstance) (*Observed, error) {
	observed := &Observed{}
	var err error
	if observed.ClusterID, err = r.ClusterID(ctx); err != nil {
		return nil, err
	}
	if observed.Denied, err = r.denied(ctx, instance); err != nil {
		return nil, err
	}
	if instance.Spec.Release == nil {
		return observed, nil
	}
	needed := []schema.GroupVersionKind{kindHelmRelease}
	if instance.Spec.Chart != nil {
		needed = append(needed, sourceKind(instance.Spec.Chart))
	}
	for kind, name := range childNames(instance) {
		if !r.Served(kind) {
			if slices.Contains(needed, kind) {
				observed.Absent = append(observed.Absent, kind)
			}
			continue
		}
		live := object(kind, "", "")
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: instance.Namespace, Name: name}, live)
		if err == nil {
			observed.Children = append(observed.Children, live)
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read %s %s: %w", kind.Kind, name, err)
		}
	}
	if err := r.dependencies(ctx, instance, observed); err != nil {
		return nil, err
	}
	if observed.ClusterID == "" {
		observed.ClusterID = labelled(observed.Children)
	}
	observed.Health = r.readings(instance, observed)
	observed.ValuesChanged = r.References.Changed(client.ObjectKeyFromObject(instance))
	observed.Upgrade, err = r.upgrade(ctx, instance)
	return observed, err
}

// labelled returns the cluster identity in the children's labels: they keep it while no Cluster exists.
func labelled(children []*unstructured.Unstructured) string {
	for _, child := range children {
		if id := child.GetLabels()[identity.LabelClusterID]; id != "" {
			return id
		}
	}
	return ""
}
