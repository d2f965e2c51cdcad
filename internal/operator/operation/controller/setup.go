package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/downstream"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/operation"
	"tend.dev/tend/internal/operator/transition"
)

// Options configure the controller.
type Options struct {
	// ClusterID is the identity of the cluster. Required.
	ClusterID clusterid.Source
	// Policy says which operations may start.
	Policy bounds.Policy
	// Retry is the interval at which absent kinds are looked up. Default 10 s.
	Retry time.Duration
	// VeleroNamespace is the namespace for Velero's objects. Default: that of a BackupStorageLocation.
	VeleroNamespace string
	// ApprovalSecret returns the secret that checks claims, or nil if no claim is valid. Required.
	ApprovalSecret SecretSource
	// Metrics registers the metric of operations. Default: not registered.
	Metrics prometheus.Registerer
	// Now returns the time. Default time.Now.
	Now func() time.Time
}

// Add adds the controller to a manager, with its watches: operations, their targets, namespaces, and the kinds of all
// engines, which may be absent.
func Add(mgr manager.Manager, opts Options) error {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	reader := mgr.GetClient()
	reconciler := &Reconciler{
		Client: reader, Live: mgr.GetAPIReader(), ClusterID: opts.ClusterID, Policy: opts.Policy, Now: opts.Now,
		Events: &transition.Recorder{
			Client: reader, Live: mgr.GetAPIReader(), Reporter: identity.FieldManager, ClusterID: opts.ClusterID, Now: opts.Now,
		},
		VeleroNamespace: opts.VeleroNamespace, ApprovalSecret: opts.ApprovalSecret,
		Ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vworkspace_operator_operation_total", Help: "Operations that ended, by type, engine and outcome.",
		}, []string{"type", "engine", "outcome"}),
	}
	if opts.Metrics != nil {
		opts.Metrics.Unregister(reconciler.Ended) // an earlier operator in this process, as in tests, may have registered it
		if err := opts.Metrics.Register(reconciler.Ended); err != nil {
			return fmt.Errorf("register the metric of operations: %w", err)
		}
	}
	w := &watches{reader: reader}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(appsv1alpha1.GroupVersion.WithKind(kindInstance))
	controlled := ctrl.NewControllerManagedBy(mgr).Named("operation").
		For(&opsv1alpha1.Operation{}).
		Watches(&opsv1alpha1.Operation{}, handler.EnqueueRequestsFromMapFunc(w.siblings)).
		Watches(target, handler.EnqueueRequestsFromMapFunc(w.ofTarget)).
		Watches(&opsv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(w.waiting)).
		WatchesMetadata(
			&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(w.waiting), builder.WithPredicates(bounds.Changed),
		).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, ReconciliationTimeout: time.Minute})
	for _, kind := range engine.Kinds() {
		mapped := w.ofObject
		if kind == engine.KindHelmRelease {
			mapped = w.ofRelease
		}
		controlled = controlled.WatchesRawSource(downstream.New(downstream.Options{
			Kind: kind, Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Map: mapped, Retry: opts.Retry,
			Appeared: func(ctx context.Context) []reconcile.Request {
				return w.requests(ctx, "", func(op *opsv1alpha1.Operation) bool { return !op.Status.Phase.Terminal() })
			},
		}))
	}
	if err := controlled.Complete(reconciler); err != nil {
		return fmt.Errorf("add the controller of operations: %w", err)
	}
	return nil
}

// watches maps events to operations.
type watches struct{ reader client.Reader }

// requests returns the chosen operations of a namespace, or of all if it is empty, from the cache. An error means that
// the cache has not started; all operations are reconciled when it does.
func (w *watches) requests(
	ctx context.Context, namespace string, choose func(*opsv1alpha1.Operation) bool,
) []reconcile.Request {
	var all opsv1alpha1.OperationList
	if err := w.reader.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var chosen []reconcile.Request
	for i := range all.Items {
		if op := &all.Items[i]; choose(op) {
			chosen = append(chosen, reconcile.Request{
				NamespacedName: types.NamespacedName{Namespace: op.Namespace, Name: op.Name},
			})
		}
	}
	return chosen
}

// waiting maps a namespace to its operations that have not started. It maps the Cluster, whose identity is in their
// labels, to all operations that have not started.
func (w *watches) waiting(ctx context.Context, object client.Object) []reconcile.Request {
	namespace := object.GetName()
	if _, ok := object.(*opsv1alpha1.Cluster); ok {
		namespace = ""
	}
	return w.requests(ctx, namespace, func(op *opsv1alpha1.Operation) bool {
		return operation.MayWait(op, op.Spec.TargetRef.Name)
	})
}

// siblings maps an operation to those that may wait for it.
func (w *watches) siblings(ctx context.Context, object client.Object) []reconcile.Request {
	changed, ok := object.(*opsv1alpha1.Operation)
	if !ok {
		return nil
	}
	return w.requests(ctx, changed.Namespace, func(op *opsv1alpha1.Operation) bool {
		return op.UID != changed.UID && operation.MayWait(op, changed.Spec.TargetRef.Name)
	})
}

// ofTarget maps an ApplicationInstance to the operations that depend on its state.
func (w *watches) ofTarget(ctx context.Context, object client.Object) []reconcile.Request {
	return w.requests(ctx, object.GetNamespace(), func(op *opsv1alpha1.Operation) bool {
		return operation.MayWait(op, object.GetName()) || upgrade(op, object.GetName())
	})
}

// ofRelease maps a HelmRelease to the upgrades of its instance, and to operations that wait for it.
func (w *watches) ofRelease(ctx context.Context, object client.Object) []reconcile.Request {
	target := object.GetLabels()[identity.LabelApplicationInstance]
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == kindInstance {
			target = owner.Name
		}
	}
	if target == "" {
		return nil
	}
	return w.requests(ctx, object.GetNamespace(), func(op *opsv1alpha1.Operation) bool {
		return operation.MayWait(op, target) || upgrade(op, target)
	})
}

// ofObject maps an engine's object to its operation, by its owner or by the label with the operation's UID. An object
// in another namespace only has the label.
func (w *watches) ofObject(ctx context.Context, object client.Object) []reconcile.Request {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == opsv1alpha1.KindOperation && owner.APIVersion == opsv1alpha1.GroupVersion.String() {
			return []reconcile.Request{
				{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}},
			}
		}
	}
	uid := object.GetLabels()[identity.LabelOperation]
	if uid == "" {
		return nil
	}
	return w.requests(ctx, "", func(op *opsv1alpha1.Operation) bool { return string(op.UID) == uid })
}

// upgrade reports whether an operation is an upgrade of the target that is running or being deleted.
func upgrade(op *opsv1alpha1.Operation, target string) bool {
	return op.Spec.Engine == opsv1alpha1.EngineHelm && op.Spec.TargetRef.Name == target &&
		(!op.Status.Phase.Terminal() || op.DeletionTimestamp != nil)
}
