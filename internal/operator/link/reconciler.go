package link

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/transition"
)

// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=clusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps.vworkspace.io,resources=applicationinstances,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",namespace=vworkspace-system,resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",namespace=vworkspace-system,resources=configmaps,resourceNames=vworkspace-applied-jobs;vworkspace-applied-jobs-1;vworkspace-applied-jobs-2;vworkspace-applied-jobs-3;vworkspace-applied-jobs-4;vworkspace-applied-jobs-5;vworkspace-applied-jobs-6;vworkspace-applied-jobs-7;vworkspace-applied-jobs-8;vworkspace-applied-jobs-9;vworkspace-applied-jobs-10;vworkspace-applied-jobs-11;vworkspace-applied-jobs-12;vworkspace-applied-jobs-13;vworkspace-applied-jobs-14;vworkspace-applied-jobs-15,verbs=get;create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=get;list;create;patch

// Reconciler reconciles the Cluster. All fields but Version and Managed are required.
type Reconciler struct {
	// Client writes. Live reads from the API server: decisions depend on Secrets, which are not cached.
	Client client.Client
	Live   client.Reader
	// Mapper tells which kinds the cluster serves.
	Mapper meta.RESTMapper
	// Connection carries out the decisions.
	Connection *Connection
	// Secret names the Secret with the credentials. The registration token is in the same namespace.
	Secret client.ObjectKey
	// Enabled makes this operator poll.
	Enabled bool
	// Managed returns the namespaces that the operator may work in. Nil means all.
	Managed func(context.Context) ([]opsv1alpha1.ManagedNamespace, error)
	Version string
	Events  *transition.Recorder
	Now     func() time.Time
}

// Reconcile takes all steps for the Cluster that need no waiting.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	in, err := r.observe(ctx, request.Name)
	if apierrors.IsNotFound(err) {
		r.Connection.Release(request.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.Events.CatchUp(ctx, in.Cluster, kindOfCluster, transitions(nil, in.Cluster.Status.Conditions))
	plan := Decide(in)
	err = r.execute(ctx, in, plan)
	switch {
	case apierrors.IsConflict(err) && len(apply.Conflicts(err)) == 0:
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil // changed by another writer since the read
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("cluster %s: %w", request.Name, err)
	}
	return reconcile.Result{RequeueAfter: r.Events.After(in.Cluster.UID, plan.After)}, nil
}

// execute carries out a plan. The connection comes last: the status must be written before the connection acts.
func (r *Reconciler) execute(ctx context.Context, in Input, plan Plan) error {
	cluster := in.Cluster
	if plan.Finalizer && cluster.DeletionTimestamp == nil {
		if err := apply.AddFinalizer(ctx, r.Client, cluster, identity.FinalizerCluster); err != nil {
			return err
		}
	}
	if plan.Drop {
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = r.Secret.Namespace, r.Secret.Name
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, secret)); err != nil {
			return fmt.Errorf("delete the credentials of another Cluster: %w", err)
		}
	}
	changed := !equality.Semantic.DeepEqual(cluster.Status, plan.Status)
	if changed {
		if err := r.writeStatus(ctx, cluster, plan); err != nil {
			return err
		}
	}
	if in.Counts == cluster.Name {
		r.Connection.Want(plan.Wanted)
		r.Connection.Heartbeat(plan.Status.Conditions, changed)
	}
	if !plan.Finalizer && slices.Contains(cluster.Finalizers, identity.FinalizerCluster) &&
		cluster.DeletionTimestamp != nil {
		return r.end(ctx, cluster)
	}
	return nil
}

// end removes the finalizer once the connection is idle. Until then, the connection's end will cause another reconcile.
func (r *Reconciler) end(ctx context.Context, cluster *opsv1alpha1.Cluster) error {
	if err := apply.RemoveFinalizer(ctx, r.Client, cluster, identity.FinalizerCluster); err != nil {
		return err
	}
	r.Connection.Release(cluster.Name)
	return nil
}

// kindOfCluster is the kind of the reconciled object.
var kindOfCluster = opsv1alpha1.GroupVersion.WithKind(kindCluster)

// writeStatus applies the status and then reports the transitions. If the process ends in between, the next one reports
// them.
func (r *Reconciler) writeStatus(ctx context.Context, cluster *opsv1alpha1.Cluster, plan Plan) error {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&plan.Status)
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{"status": values}}
	wanted.SetGroupVersionKind(kindOfCluster)
	wanted.SetName(cluster.Name)
	wanted.SetUID(cluster.UID)
	wanted.SetResourceVersion(cluster.ResourceVersion)
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner); err != nil {
		r.Events.Failed(cluster, plan.Events, err)
		return fmt.Errorf("write the status: %w", err)
	}
	cluster.ResourceVersion = wanted.GetResourceVersion()
	r.Events.Record(ctx, cluster, kindOfCluster, plan.Events)
	return nil
}
