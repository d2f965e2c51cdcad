package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/operation"
	"tend.dev/tend/internal/operator/transition"
)

// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations/status,verbs=patch
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations/finalizers,verbs=update
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.vworkspace.io,resources=applicationinstances,verbs=get;list;watch
// +kubebuilder:rbac:groups=velero.io,resources=backups;restores,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=argoproj.io,resources=workflows,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=volsync.backube,resources=replicationsources;replicationdestinations,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshots,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets;serviceaccounts;persistentvolumeclaims,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=velero.io,resources=backupstoragelocations,verbs=list
// +kubebuilder:rbac:groups=argoproj.io,resources=workflowtemplates,verbs=get
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshotclasses,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=get;list;create;patch

// Reconciler reconciles Operations.
type Reconciler struct {
	// Client reads from the cache, and writes. Required.
	Client client.Client
	// Live reads from the API server. Required.
	Live client.Reader
	// ClusterID is the identity of the cluster. Required.
	ClusterID clusterid.Source
	// Policy says which operations may start.
	Policy bounds.Policy
	// Events writes the transitions. Required.
	Events *transition.Recorder
	// Ended counts operations by type, engine and outcome. Default: not counted.
	Ended *prometheus.CounterVec
	// Now returns the time. Required.
	Now func() time.Time
	// VeleroNamespace is the namespace for Velero's objects. Default: that of a BackupStorageLocation.
	VeleroNamespace string
	// ApprovalSecret returns the secret that checks claims, or nil if no claim is valid. Required.
	ApprovalSecret SecretSource
}

// SecretSource returns the current value of a secret.
type SecretSource func(context.Context) ([]byte, error)

// Reconcile takes all steps for one operation that need no waiting.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	op := &opsv1alpha1.Operation{}
	if err := r.Client.Get(ctx, request.NamespacedName, op); err != nil {
		return reconcile.Result{}, ignoreGone(err)
	}
	if !op.Status.Phase.Terminal() || op.DeletionTimestamp != nil { // the cache may be stale
		if err := r.Live.Get(ctx, request.NamespacedName, op); err != nil {
			return reconcile.Result{}, ignoreGone(err)
		}
	}
	r.Events.CatchUp(ctx, op, kindOperation, operation.EventsOf(op.Status.Conditions))
	input, err := r.observe(ctx, op)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := operation.Decide(input)
	err = r.execute(ctx, op, plan)
	var creation *creationError
	if errors.As(err, &creation) && ctx.Err() == nil {
		op.Status, input.Refused, input.Conflicts = plan.Status, apply.RefusalOf(creation.err), apply.Conflicts(creation.err)
		if input.Refused == nil && len(input.Conflicts) == 0 {
			return reconcile.Result{RequeueAfter: time.Millisecond}, nil // changed by another writer since the read
		}
		plan = operation.Decide(input)
		if again := r.execute(ctx, op, plan); again != nil || input.Refused == nil || input.Refused.Final {
			err = again // a requeue with backoff
		}
	}
	if !plan.Finalizer && err == nil {
		r.Events.Gone(op.UID)
		return reconcile.Result{}, nil
	}
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil // changed by another writer since the read
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("operation %s: %w", request, err)
	}
	return reconcile.Result{RequeueAfter: r.Events.After(op.UID, plan.After)}, nil
}

// ignoreGone returns nil for an object that does not exist.
func ignoreGone(err error) error { return client.IgnoreNotFound(err) }
