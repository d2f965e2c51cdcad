package link

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/transition"
)

// Options configure the controller.
type Options struct {
	// Namespace is the operator's own namespace. Required.
	Namespace string
	// Secret is the name of the Secret with the credentials. Default vworkspace-agent-credentials.
	Secret string
	// Disabled keeps the operator from contacting a control plane, whatever the Cluster says.
	Disabled bool
	// Managed returns the namespaces that the operator may work in. Default: all.
	Managed func(context.Context) ([]opsv1alpha1.ManagedNamespace, error)
	// Query answers a query of the control plane, after its signature was checked. Default: no query is answered.
	Query func(ctx context.Context, query pull.Query) pull.Answer
	// Wait is the time that a request for jobs waits for one to appear. Default 30 s.
	Wait time.Duration
	// Version is the operator's version.
	Version string
	// Logger receives the puller's log lines. Default: none.
	Logger *slog.Logger
	// Metrics registers the metrics. Default: not registered.
	Metrics prometheus.Registerer
	// Now returns the time. Default time.Now.
	Now func() time.Time
}

// Add adds the controller and the connection to a manager, with their watches: Clusters, the Secrets of the operator's
// namespace, and the metadata of namespaces.
func Add(mgr manager.Manager, opts Options) error {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	changed := make(chan event.GenericEvent, 1)
	secret := client.ObjectKey{Namespace: opts.Namespace, Name: cmp.Or(opts.Secret, identity.SecretCredentials)}
	connection := &Connection{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Cache: mgr.GetCache(), Secret: secret, Wait: opts.Wait,
		Now: opts.Now, Log: opts.Logger, Query: opts.Query,
		UserAgent: "tend-operator/" + cmp.Or(opts.Version, "unknown"),
		Notify: func() {
			select {
			case changed <- event.GenericEvent{Object: &opsv1alpha1.Cluster{}}:
			default: // a notice already waits, and a reconcile reads everything
			}
		},
	}
	if opts.Metrics != nil {
		measured := newMetrics(connection)
		opts.Managed = measured.counting(opts.Managed)
		connection.Taken, connection.Finished = measured.taken, measured.finished
		opts.Metrics.Unregister(measured) // an earlier operator in this process, as in tests, may have registered it
		if err := opts.Metrics.Register(measured); err != nil {
			return fmt.Errorf("register the metrics of the connection: %w", err)
		}
	}
	if err := mgr.Add(connection); err != nil {
		return fmt.Errorf("add the connection to the control plane: %w", err)
	}
	reader := mgr.GetClient()
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		if _, ok := object.(*corev1.Secret); ok && object.GetNamespace() != opts.Namespace {
			return nil
		}
		return clusters(ctx, reader)
	})
	err := ctrl.NewControllerManagedBy(mgr).Named("cluster").
		For(&opsv1alpha1.Cluster{}).
		Watches(&opsv1alpha1.Cluster{}, all).
		Watches(&corev1.Secret{}, all).
		WatchesMetadata(&corev1.Namespace{}, all, builder.WithPredicates(bounds.Changed)).
		WatchesRawSource(source.Channel(changed, all)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, ReconciliationTimeout: time.Minute}).
		Complete(&Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Connection: connection,
			Secret:  secret,
			Enabled: !opts.Disabled, Managed: opts.Managed, Version: opts.Version, Now: opts.Now,
			Events: &transition.Recorder{
				Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Reporter: identity.FieldManager,
				ClusterID: clusterid.From("", mgr.GetClient()), Now: opts.Now,
			},
		})
	if err != nil {
		return fmt.Errorf("add the controller of the Cluster: %w", err)
	}
	return nil
}

// clusters returns every Cluster from the cache. Before the cache has started there is nothing to reconcile.
func clusters(ctx context.Context, reader client.Reader) []reconcile.Request {
	var all opsv1alpha1.ClusterList
	if err := reader.List(ctx, &all); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
	}
	return requests
}
