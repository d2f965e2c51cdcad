package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/instance"
	"tend.dev/tend/internal/operator/link"
	"tend.dev/tend/internal/operator/operation/controller"
	"tend.dev/tend/internal/operator/ownwrites"
	"tend.dev/tend/internal/operator/podlog"
)

// Options configure the operator.
type Options struct {
	// Namespace is the operator's own namespace, with its lease, credentials and ConfigMaps. Required.
	Namespace string
	// Watched is the only namespace with objects to work on. Default: all.
	Watched string
	// Retry is the interval at which the operator asks for kinds that the cluster doesn't serve. Default 10 s.
	Retry time.Duration
	// ClusterID is the value of the label cluster-id. Default: the id in the Cluster object.
	ClusterID string
	// Policy says which objects the operator may work on. Default: all in namespaces with the label
	// managed-by=vworkspace.
	Policy bounds.Policy
	// Webhooks configures the admission webhooks. Nil serves none.
	Webhooks *Webhooks
	// VeleroNamespace is the namespace for Velero's objects. Default: that of a BackupStorageLocation.
	VeleroNamespace string
	// ApprovalSecret checks claims of approvals. Default: the secret received at registration; without one no claim is
	// valid.
	ApprovalSecret []byte
	// LeaderElect makes only one of several operators work at a time.
	LeaderElect bool
	// MetricsAddress is the address of the metrics. Default "0": none.
	MetricsAddress string
	// HealthAddress is the address of /healthz and /readyz. Default "0": none.
	HealthAddress string
	// NoAgent keeps the operator from contacting a control plane, whatever the Cluster says.
	NoAgent bool
	// PollWait is the time that a request for jobs waits for one to appear. Default 30 s.
	PollWait time.Duration
	// CredentialsSecret names the Secret with the credentials, in Namespace. Default vworkspace-agent-credentials.
	CredentialsSecret string
	// Version is the version that the operator reports.
	Version string
	// Logger receives all log lines. Default: none.
	Logger *slog.Logger
}

// Scheme returns the kinds that the operator knows by their Go types. It handles kinds of others, such as Flux's,
// without types.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, appsv1alpha1.AddToScheme, opsv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return scheme, nil
}

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=vworkspace-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=vworkspace-system,resources=leases,resourceNames=dad03b25.vworkspace.io,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=vworkspace-system,resources=events,verbs=create;patch

// NewManager returns the manager of an operator with all its controllers. Of several operators one holds the lease; it
// announces that in an Event of the core API.
func NewManager(config *rest.Config, opts Options) (manager.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	yes := true // a reconcile sees the writes of earlier ones
	informers := &ownwrites.Informers{}
	config = rest.CopyConfig(config)
	config.UserAgent = cmp.Or(config.UserAgent, identity.FieldManager)
	made, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        logr.FromSlogHandler(opts.Logger.Handler()),
		Metrics:                       metricsserver.Options{BindAddress: cmp.Or(opts.MetricsAddress, "0")},
		HealthProbeBindAddress:        cmp.Or(opts.HealthAddress, "0"),
		LeaderElection:                opts.LeaderElect,
		LeaderElectionID:              identity.LeaderLease,
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionReleaseOnCancel: true, // the process ends when Start returns
		// Tests run several managers in one process.
		Controller:    ctrlconfig.Controller{SkipNameValidation: &yes},
		Cache:         caching(opts, informers),
		WebhookServer: opts.Webhooks.server(),
		Client: client.Options{
			Cache: &client.CacheOptions{Unstructured: true, EnableReadYourWritesConsistency: &yes},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := errors.Join(made.Add(informers), addControllers(made, opts)); err != nil {
		return nil, err
	}
	return made, addChecks(made)
}

// addControllers adds the controllers to a manager, and the webhooks if they are enabled.
func addControllers(made manager.Manager, opts Options) error {
	var measured prometheus.Registerer
	if cmp.Or(opts.MetricsAddress, "0") != "0" {
		measured = metrics.Registry
	}
	id := clusterid.From(opts.ClusterID, made.GetClient())
	instances := instance.Options{Retry: opts.Retry, ClusterID: id, Policy: opts.Policy}
	operations := controller.Options{
		Retry: opts.Retry, ClusterID: id, Policy: opts.Policy, VeleroNamespace: opts.VeleroNamespace,
		ApprovalSecret: func(ctx context.Context) ([]byte, error) {
			if len(opts.ApprovalSecret) > 0 {
				return opts.ApprovalSecret, nil
			}
			return link.ApprovalSecret(ctx, made.GetClient(), opts.Namespace, opts.CredentialsSecret)
		},
		Metrics: measured, Now: time.Now,
	}
	if err := instance.Add(made, instances); err != nil {
		return err
	}
	if err := controller.Add(made, operations); err != nil {
		return err
	}
	if opts.Webhooks != nil {
		if err := opts.Webhooks.add(made, opts.Namespace, instances, operations); err != nil {
			return err
		}
	}
	var namespacesOf func(context.Context) ([]opsv1alpha1.ManagedNamespace, error)
	if !opts.Policy.AnyNamespace {
		namespacesOf = managed(made.GetClient())
	}
	set, err := kubernetes.NewForConfigAndClient(made.GetConfig(), made.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the client that reads logs: %w", err)
	}
	logs := &podlog.Reader{Live: made.GetAPIReader(), Open: podlog.Through(set)}
	return link.Add(made, link.Options{
		Namespace: opts.Namespace, Secret: opts.CredentialsSecret, Disabled: opts.NoAgent, Managed: namespacesOf,
		Wait: opts.PollWait, Version: opts.Version, Logger: opts.Logger,
		Metrics: measured, Query: logs.Answer,
	})
}

// caching returns the options of the cache. Objects of other controllers have no Go types here. The cache drops managed
// fields: only the API server needs them, and they make up most of an object's size.
func caching(opts Options, informers *ownwrites.Informers) cache.Options {
	return cache.Options{
		NewInformer:      informers.New,
		DefaultTransform: cache.TransformStripManagedFields(), DefaultNamespaces: watched(opts.Watched),
		// Secrets are watched only in the operator's namespace, and of Jobs only those of operations. Everything that the
		// operator writes and reads here is watched, so that reads see the writes.
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{opts.Namespace: {}}},
			&batchv1.Job{}:   {Label: ofOperation()},
			&admissionv1.ValidatingWebhookConfiguration{}: {
				Field: fields.OneTermEqualSelector("metadata.name", identity.WebhookConfiguration),
			},
		},
	}
}

// ofOperation selects objects that were created for an Operation.
func ofOperation() labels.Selector {
	selector, err := labels.Parse(identity.LabelOperation)
	if err != nil {
		panic(err) // the label is a constant
	}
	return selector
}

// watched returns the cache's option for a namespace. It is one, or all: a read waits until a kind's cache has reached
// a version, and with a cache for each of several namespaces any of them would end the wait.
func watched(namespace string) map[string]cache.Config {
	if namespace == "" {
		return nil
	}
	return map[string]cache.Config{namespace: {}}
}

// Run runs the operator until the context ends.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	made, err := NewManager(config, opts)
	if err != nil {
		return err
	}
	return made.Start(ctx)
}
