package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/gate"
	"tend.dev/tend/internal/operator/operation"
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
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles Operations.
type Reconciler struct {
	// Client reads from the cache, and writes. Required.
	Client client.Client
	// Live reads from the API server. Required.
	Live client.Reader
	// ClusterID is the identity of the cluster. Required.
	ClusterID clusterid.Source
	// Policy says which operations may start.
	Policy gate.Policy
	// Events receives the transitions. Required.
	Events events.EventRecorder
	// Ended counts operations by type, engine and outcome. Default: nobody counts.
	Ended *prometheus.CounterVec
	// Now returns the time. Required.
	Now func() time.Time
	// VeleroNamespace is where Velero's objects are created. Default: the operation's namespace.
	VeleroNamespace string
	// ApprovalSecret is the secret that claims are checked with. Default: none, and no claim is valid.
	ApprovalSecret []byte
}

// Reconcile brings one operation as far as it gets without waiting.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	op := &opsv1alpha1.Operation{}
	if err := r.Client.Get(ctx, request.NamespacedName, op); err != nil {
		return reconcile.Result{}, ignoreGone(err)
	}
	if !op.Status.Phase.Terminal() || op.DeletionTimestamp != nil { // decide from what is stored, not from what was
		if err := r.Live.Get(ctx, request.NamespacedName, op); err != nil {
			return reconcile.Result{}, ignoreGone(err)
		}
	}
	input, err := r.observe(ctx, op)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := operation.Decide(input)
	refused, err := r.execute(ctx, op, plan)
	if err == nil && refused != nil { // the object will be refused for ever: the operation ends
		op.Status, input.Refused = plan.Status, refused.Error()
		plan = operation.Decide(input)
		_, err = r.execute(ctx, op, plan)
	}
	if conflicts := apply.Conflicts(err); len(conflicts) > 0 && plan.Apply != nil {
		op.Status, input.Conflicts = plan.Status, conflicts
		plan = operation.Decide(input)
		_, err = r.execute(ctx, op, plan)
	}
	switch {
	case apierrors.IsConflict(err) && len(apply.Conflicts(err)) == 0:
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil // written by another since it was read
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("operation %s: %w", request, err)
	}
	return reconcile.Result{RequeueAfter: plan.After}, nil
}

// ignoreGone returns nil for an object that does not exist.
func ignoreGone(err error) error { return client.IgnoreNotFound(err) }
