package instance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/downstream"
	"tend.dev/tend/internal/operator/health"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/transition"
)

// workers is the number of instances reconciled at a time. A reconcile waits only for the API server.
const workers = 4

// Options configure the controller.
type Options struct {
	// ClusterID is the identity of the cluster. Required.
	ClusterID clusterid.Source
	// Policy says which instances the operator may work on.
	Policy bounds.Policy
	// Retry is the interval at which absent kinds are looked up. Default 10 s.
	Retry time.Duration
}

// Add adds the controller to a manager, with its watches: instances and their dependents, Flux's kinds, operations (an
// upgrade changes what is installed), the Cluster (its identity is a label of every child), and the metadata of
// namespaces.
func Add(mgr manager.Manager, opts Options) error {
	w := &watches{reader: mgr.GetClient()}
	if err := mgr.GetFieldIndexer().IndexField(
		context.Background(), object(kindInstance, "", ""), dependsOn, dependenciesOf,
	); err != nil {
		return fmt.Errorf("index the dependencies of ApplicationInstances: %w", err)
	}
	served := map[schema.GroupVersionKind]*downstream.Source{}
	controlled := ctrl.NewControllerManagedBy(mgr).Named("applicationinstance").
		For(object(kindInstance, "", "")).
		Watches(
			object(kindInstance, "", ""), handler.EnqueueRequestsFromMapFunc(w.dependents),
			builder.WithPredicates(predicate.GenerationChangedPredicate{}),
		).
		Watches(&opsv1alpha1.Operation{}, handler.EnqueueRequestsFromMapFunc(toTarget)).
		Watches(&opsv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(w.all)).
		WatchesMetadata(
			&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(w.inNamespace), builder.WithPredicates(bounds.Changed),
		).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, ReconciliationTimeout: time.Minute})
	for _, kind := range []schema.GroupVersionKind{kindHelmRelease, kindOCIRepository, kindHelmRepository} {
		served[kind] = downstream.New(downstream.Options{
			Kind: kind, Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Map: w.toInstance, Retry: opts.Retry,
			Appeared: func(ctx context.Context) []reconcile.Request { return w.all(ctx, nil) },
		})
		controlled = controlled.WatchesRawSource(served[kind])
	}
	trees, err := health.Add(mgr)
	if err != nil {
		return err
	}
	references, err := addReferences(mgr)
	if err != nil {
		return err
	}
	controlled = controlled.WatchesRawSource(source.Func(trees.Changes)).WatchesRawSource(source.Func(references.Changes))
	err = controlled.Complete(&Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), ClusterID: opts.ClusterID, Policy: opts.Policy, Now: time.Now,
		Events: &transition.Recorder{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Reporter: identity.FieldManager, ClusterID: opts.ClusterID,
			Now: time.Now,
		},
		Trees: trees, References: references,
		Served: func(kind schema.GroupVersionKind) bool { return served[kind].Served() },
	})
	if err != nil {
		return fmt.Errorf("add the controller of ApplicationInstances: %w", err)
	}
	return nil
}

// addReferences adds the controller that looks at objects with values to a manager, and returns what it notices.
func addReferences(mgr manager.Manager) (*References, error) {
	references := &References{
		Live: mgr.GetAPIReader(), Instances: mgr.GetClient(), Now: time.Now,
		turns: newTurns(looksPerSec, looksAtOnce, time.Now),
	}
	// Who waits has a place in turns, which serves namespaces fairly: priorities of this queue would order nothing. A
	// queue with priorities takes 8 MB for 1,000 instances. The other controllers have one, since a change is to pass
	// by the reconciles of a restart.
	withoutPriorities := new(bool)
	err := ctrl.NewControllerManagedBy(mgr).Named("values").
		For(object(kindInstance, "", ""), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Func(references.Turns)).
		WithOptions(controller.Options{ReconciliationTimeout: time.Minute, UsePriorityQueue: withoutPriorities}).
		Complete(references)
	if err != nil {
		return nil, fmt.Errorf("add the controller that notices changes of values: %w", err)
	}
	return references, nil
}

// watches maps events to instances.
type watches struct{ reader client.Reader }

// all returns every instance.
func (w *watches) all(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
	return w.matching(ctx, "", func(*unstructured.Unstructured) bool { return true })
}

// inNamespace returns the instances of a namespace.
func (w *watches) inNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return w.matching(ctx, namespace.GetName(), func(*unstructured.Unstructured) bool { return true })
}

var toOwner = downstream.ToOwner(kindInstance.GroupKind(), identity.LabelApplicationInstance)

// toInstance maps an object of Flux to its instance by owner and label. An object with neither may have the name of an
// instance's child; then that instance waits for the object to go or change.
func (w *watches) toInstance(ctx context.Context, event client.Object) []reconcile.Request {
	if requests := toOwner(ctx, event); len(requests) > 0 {
		return requests
	}
	return w.matching(ctx, event.GetNamespace(), func(instance *unstructured.Unstructured) bool {
		release, _, _ := unstructured.NestedString(instance.Object, "spec", "release", "name")
		return release == event.GetName() || identity.ChartSource(release) == event.GetName()
	})
}

// dependsOn is the index of instances by the instances that they wait for.
const dependsOn = "spec.dependsOn"

// dependenciesOf returns the names of the instances that an instance waits for.
func dependenciesOf(stored client.Object) (names []string) {
	instance, ok := stored.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(instance.Object, "spec", "dependsOn")
	for _, one := range list {
		values, _ := one.(map[string]any)
		if name, ok := values["name"].(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// dependents returns the instances that wait for an instance.
func (w *watches) dependents(ctx context.Context, instance client.Object) []reconcile.Request {
	return w.matching(
		ctx, instance.GetNamespace(), func(*unstructured.Unstructured) bool { return true },
		client.MatchingFields{dependsOn: instance.GetName()},
	)
}

// matching returns the matching instances of a namespace, or of all. It can't return an error; the cache only fails
// when it ends.
func (w *watches) matching(
	ctx context.Context, namespace string, match func(*unstructured.Unstructured) bool, more ...client.ListOption,
) (requests []reconcile.Request) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindInstance)
	if err := w.reader.List(ctx, list, append(more, client.InNamespace(namespace))...); err != nil {
		return nil
	}
	for i := range list.Items {
		if match(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// toTarget maps an upgrade to its instance.
func toTarget(_ context.Context, event client.Object) []reconcile.Request {
	operation, ok := event.(*opsv1alpha1.Operation)
	if !ok || operation.Spec.Type != opsv1alpha1.TypeUpgrade || operation.Spec.Engine != opsv1alpha1.EngineHelm {
		return nil
	}
	return []reconcile.Request{
		{NamespacedName: types.NamespacedName{Namespace: operation.Namespace, Name: operation.Spec.TargetRef.Name}},
	}
}
