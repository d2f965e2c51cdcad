package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"tend.dev/tend/internal/operator/clusterid"
	"tend.dev/tend/internal/operator/identity"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=tend-operator,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",namespace=vworkspace-system,resources=secrets,verbs=get;list;watch;create;patch

// Certificate is the certificate of the webhooks. The zero value has none yet.
type Certificate struct {
	current atomic.Pointer[tls.Certificate]
}

var errNone = errors.New("the certificate of the webhooks has not been made yet")

// Get returns the certificate for a handshake.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if current := c.current.Load(); current != nil {
		return current, nil
	}
	return nil, errNone
}

// Options configure the controller. All are required.
type Options struct {
	// Namespace is the operator's own namespace, with the Secret.
	Namespace string
	// Names are the host names and addresses at which the API server reaches the webhooks.
	Names []string
	// Certificate receives the certificate to serve with.
	Certificate *Certificate
	// ClusterID is the identity of the cluster, for the Secret's label.
	ClusterID clusterid.Source
	Now       func() time.Time
}

// Add adds the controller to a manager. It runs in every replica, since each serves.
func Add(mgr manager.Manager, opts Options) error {
	secret := client.ObjectKey{Namespace: opts.Namespace, Name: identity.SecretWebhook}
	one := func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: secret}}
	}
	everywhere := false
	err := ctrl.NewControllerManagedBy(mgr).Named("servingcert").
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(
			ctx context.Context, object client.Object,
		) []reconcile.Request {
			if client.ObjectKeyFromObject(object) != secret {
				return nil
			}
			return one(ctx, object)
		})).
		Watches(&admissionv1.ValidatingWebhookConfiguration{}, handler.EnqueueRequestsFromMapFunc(one)).
		WatchesRawSource(source.Func(func(
			_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
		) error {
			queue.Add(reconcile.Request{NamespacedName: secret}) // reconciles even if neither object exists
			return nil
		})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1, NeedLeaderElection: &everywhere, ReconciliationTimeout: time.Minute,
		}).
		Complete(&reconciler{Options: opts, client: mgr.GetClient(), live: mgr.GetAPIReader(), secret: secret})
	if err != nil {
		return fmt.Errorf("add the controller of the webhooks' certificate: %w", err)
	}
	return nil
}

type reconciler struct {
	Options
	client client.Client
	live   client.Reader
	secret client.ObjectKey
}

// Reconcile makes or renews the certificate, puts it into use, and makes the API server trust it. A new authority is
// trusted before a certificate of it is used, except the first one.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	if err := r.live.Get(ctx, r.secret, secret); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read the webhooks' certificate %s: %w", r.secret, err)
	}
	data, again, err := Plan(secret.Data, r.Names, r.Now())
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("make the webhooks' certificate: %w", err)
	}
	id, err := r.ClusterID(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !same(data, secret.Data) || id != "" && secret.Labels[identity.LabelClusterID] != id {
		if err := r.store(ctx, secret, id, data); err != nil {
			return reconcile.Result{}, err
		}
		// Another replica may have made one too: the stored one counts.
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	}
	if err := r.trust(ctx, data[keyAuthority]); err != nil {
		return reconcile.Result{}, err
	}
	served, err := tls.X509KeyPair(data[keyCertificate], data[keyKey])
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("use the webhooks' certificate: %w", err)
	}
	r.Certificate.current.Store(&served)
	return reconcile.Result{RequeueAfter: max(again.Sub(r.Now()), time.Second)}, nil
}

// store applies the Secret, unless another writer has changed it since it was read. It takes over fields that a person
// or a restore has written: a certificate must be renewed. Fields that this operator once wrote by an update are first
// adopted as applied; otherwise they would stay when they are no longer wanted.
func (r *reconciler) store(ctx context.Context, secret *corev1.Secret, id string, data map[string][]byte) error {
	wanted := applycorev1.Secret(r.secret.Name, r.secret.Namespace).WithData(data).WithType(corev1.SecretTypeOpaque).
		WithLabels(map[string]string{identity.LabelManagedBy: identity.ManagedBy})
	if id != "" {
		wanted.WithLabels(map[string]string{identity.LabelClusterID: id})
	}
	if secret.ResourceVersion != "" {
		if err := r.adopt(ctx, secret); err != nil {
			return err
		}
		wanted.WithResourceVersion(secret.ResourceVersion)
	}
	if err := r.client.Apply(ctx, wanted, client.FieldOwner(identity.FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("store the webhooks' certificate %s: %w", r.secret, err)
	}
	return nil
}

// adopt marks fields that this operator wrote by an update as applied.
func (r *reconciler) adopt(ctx context.Context, secret *corev1.Secret) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(secret, sets.New(identity.FieldManager), identity.FieldManager)
	if err != nil || len(patch) == 0 {
		return err
	}
	if err := r.client.Patch(ctx, secret, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return fmt.Errorf("take over the webhooks' certificate %s: %w", r.secret, err)
	}
	return nil
}

// trust writes the authority into the configuration of the webhooks. If there is no configuration, nothing calls the
// webhooks.
func (r *reconciler) trust(ctx context.Context, authority []byte) error {
	stored := &admissionv1.ValidatingWebhookConfiguration{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: identity.WebhookConfiguration}, stored); err != nil {
		return client.IgnoreNotFound(err)
	}
	wanted := admissionapply.ValidatingWebhookConfiguration(identity.WebhookConfiguration)
	trusted := true
	for _, webhook := range stored.Webhooks {
		trusted = trusted && bytes.Equal(webhook.ClientConfig.CABundle, authority)
		wanted.WithWebhooks(admissionapply.ValidatingWebhook().WithName(webhook.Name).
			WithClientConfig(admissionapply.WebhookClientConfig().WithCABundle(authority...)))
	}
	if trusted {
		return nil
	}
	if err := r.client.Apply(ctx, wanted, client.FieldOwner(identity.FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("make the API server trust the webhooks: %w", err)
	}
	return nil
}
