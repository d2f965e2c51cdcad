//go:build kube

package link_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m, kubetest.Tend, kubetest.Flux)) }

var (
	helmRelease         = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	ociRepository       = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
	applicationInstance = schema.GroupVersionKind{Group: "apps.vworkspace.io", Version: "v1alpha1", Kind: "ApplicationInstance"}
)

// world is a Kubernetes cluster with one operator, and Tend. A Cluster has no namespace and there can be only one, so
// the tests of this package run one after the other.
type world struct {
	testing.TB
	*kubetest.Server
	tend       *tend
	namespace  string
	name       string
	user, flux client.Client
	stop       func()
	// doomed is the namespace with the applications, if that isn't the operator's own.
	doomed string
	// connection configures the operator's client. Nil means an administrator. elects makes it hold the lease.
	connection *rest.Config
	elects     bool
	// metrics and health are the addresses of the operator's listeners. Empty means none.
	metrics, health string
	// webhooks configures the operator's webhooks. Nil means none.
	webhooks *operator.Webhooks
}

// newWorld returns a world with a running operator.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := emptyWorld(t)
	w.operate()
	return w
}

// emptyWorld returns a world whose operator doesn't run yet.
func emptyWorld(t testing.TB) *world {
	t.Helper()
	return worldOf(t, kubetest.Shared())
}

// worldOf returns a world with an API server, whose operator doesn't run yet.
func worldOf(t testing.TB, server *kubetest.Server) *world {
	t.Helper()
	w := &world{
		TB: t, Server: server, tend: startTend(t), namespace: server.Namespace(t), user: server.Client(t, "user"),
		flux: server.Client(t, "helm-controller"),
	}
	w.name = "east-" + w.namespace
	t.Cleanup(w.remove)
	return w
}

func (w *world) agent() string { return "operator-of-" + w.namespace }

// operate starts an operator. It ends with the test or by stop.
func (w *world) operate() {
	w.Helper()
	config := w.As(w.agent())
	if w.connection != nil {
		config = w.connection
	}
	made, err := operator.NewManager(config, operator.Options{
		Namespace: w.namespace, Retry: 50 * time.Millisecond, PollWait: time.Second, Version: "test", LeaderElect: w.elects,
		Watched: w.watched(), MetricsAddress: w.metrics, HealthAddress: w.health, Webhooks: w.webhooks,
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	stopped := false
	w.stop = func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			w.Errorf("the operator ended: %v", err)
		}
	}
	w.Cleanup(w.stop)
}

// watched returns the namespace that the operator watches, because other tests' namespaces have operators of their own.
// An operator with roles runs as deployed, and watches all.
func (w *world) watched() string {
	if w.connection != nil {
		return ""
	}
	return cmp.Or(w.doomed, w.namespace)
}

// restart replaces the operator. Tend then sends unanswered jobs again: the lease of the first one is over.
func (w *world) restart() {
	w.Helper()
	w.stop()
	w.tend.ahead.Add(int64(2 * clusterjob.Lease))
	w.operate()
}

// remove removes the Cluster without the operator, so that the next test starts without one.
func (w *world) remove() {
	cluster := &opsv1alpha1.Cluster{}
	cluster.Name = w.name
	admin := w.user
	_ = admin.Delete(context.Background(), cluster)
	err := admin.Patch(context.Background(), cluster, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		w.Error(err)
	}
}

// secret writes the registration Secret as printed by `tend clusters add`.
func (w *world) secret(token string) {
	w.Helper()
	certificate, name := w.tend.authority()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "tend-registration"},
		StringData: map[string]string{"registrationToken": token, "ca.crt": certificate, "serverName": name},
	}
	if w.tend.Snapshot().Cluster(w.name).Exists() {
		jobs, approvals, err := w.tend.Handler.Keys(w.Context(), w.name)
		if err != nil {
			w.Fatal(err)
		}
		secret.StringData["jobKeys"], secret.StringData["approvalSecret"] = jobs, approvals
	}
	err := w.user.Create(w.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = w.user.Update(w.Context(), secret)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// declare creates the Cluster as printed by `tend clusters add`.
func (w *world) declare() {
	w.Helper()
	err := w.user.Create(w.Context(), &opsv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec: opsv1alpha1.ClusterSpec{
			ClusterID: w.name, ControlPlaneEndpoint: w.tend.server.URL,
			RegistrationTokenSecretRef: &opsv1alpha1.TokenRef{Name: "tend-registration"},
		},
	})
	if err != nil {
		w.Fatal(err)
	}
}

// connect registers the cluster, and waits until it is connected.
func (w *world) connect() {
	w.Helper()
	w.secret(w.tend.invite(w.name))
	w.declare()
	w.says(opsv1alpha1.ClusterConnected, "Connected=True/RoundTripOK", "Authenticated=True/CredentialAccepted")
}

func (w *world) cluster(ctx context.Context) (*opsv1alpha1.Cluster, error) {
	cluster := &opsv1alpha1.Cluster{}
	return cluster, w.user.Get(ctx, client.ObjectKey{Name: w.name}, cluster)
}

// says waits until the Cluster has the phase, and the conditions for its current spec.
func (w *world) says(phase opsv1alpha1.ClusterPhase, conditions ...string) {
	w.Helper()
	kubetest.Eventually(w, "conditions of the Cluster", func(ctx context.Context) error {
		cluster, err := w.cluster(ctx)
		if err != nil {
			return err
		}
		if cluster.Status.Phase != phase {
			return fmt.Errorf("want phase %s, have %+v", phase, cluster.Status)
		}
		for _, want := range conditions {
			kind, state, _ := strings.Cut(want, "=")
			c := meta.FindStatusCondition(cluster.Status.Conditions, kind)
			if c == nil || string(c.Status)+"/"+c.Reason != state || c.ObservedGeneration != cluster.Generation {
				return fmt.Errorf("want %s of generation %d, have %+v", want, cluster.Generation, cluster.Status.Conditions)
			}
		}
		return nil
	})
}

// credentials reads the Secret with the credentials.
func (w *world) credentials(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: identity.SecretCredentials}, secret)
}

// get reads an object of this namespace.
func (w *world) get(
	ctx context.Context, kind schema.GroupVersionKind, name string,
) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	return live, w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, live)
}

// exists waits until an object exists, and returns it.
func (w *world) exists(kind schema.GroupVersionKind, name string) (live *unstructured.Unstructured) {
	w.Helper()
	kubetest.Eventually(w, kind.Kind+" "+name, func(ctx context.Context) (err error) {
		live, err = w.get(ctx, kind, name)
		return err
	})
	return live
}

// fetched waits until the source has the version.
func (w *world) fetched(version string) {
	w.Helper()
	kubetest.Eventually(w, "the version of the source", func(ctx context.Context) error {
		source, err := w.get(ctx, ociRepository, "web-source")
		if err != nil {
			return err
		}
		if tag, _, _ := unstructured.NestedString(source.Object, "spec", "ref", "tag"); tag != version {
			return fmt.Errorf("the source is of %s, want %s", tag, version)
		}
		return nil
	})
}

// installs makes Flux report the chart as fetched and installed.
func (w *world) installs() {
	w.Helper()
	w.exists(helmRelease, "web")
	var tag, digest string
	w.play(ociRepository, "web-source", "Succeeded", func(live *unstructured.Unstructured, status map[string]any) {
		tag, _, _ = unstructured.NestedString(live.Object, "spec", "ref", "tag")
		digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(tag)))
		status["artifact"] = map[string]any{
			"revision": tag + "@" + digest, "digest": digest, "path": "p", "url": "http://source/p", "lastUpdateTime": "2026-11-25T12:00:00Z",
		}
	})
	w.play(helmRelease, "web", "InstallSucceeded", func(_ *unstructured.Unstructured, status map[string]any) {
		status["lastAttemptedRevision"], status["lastAttemptedRevisionDigest"] = tag+"+"+digest[len("sha256:"):][:12], digest
	})
}

// play makes Flux report an object as ready.
func (w *world) play(
	kind schema.GroupVersionKind, name, reason string, more func(*unstructured.Unstructured, map[string]any),
) {
	w.Helper()
	kubetest.Eventually(w, "status of "+kind.Kind, func(ctx context.Context) error {
		live, err := w.get(ctx, kind, name)
		if err != nil {
			return err
		}
		status := map[string]any{"observedGeneration": live.GetGeneration(), "conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": reason, "message": "flux says " + reason, "observedGeneration": live.GetGeneration(),
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}}}
		more(live, status)
		live.Object["status"] = status
		return w.flux.Status().Update(ctx, live) // again after a conflict
	})
}

// applies returns how often the operator has patched the instance. It fails the test if the operator used force without
// having applied the instance before.
func (w *world) applies() int {
	w.Helper()
	all := w.Writes(w, func(write kubetest.Write) bool {
		return write.Agent == w.agent() && write.Resource == "applicationinstances" && write.Namespace == w.namespace && write.Subresource == ""
	})
	for i, write := range all {
		if !strings.Contains(write.Request, "fieldManager="+identity.FieldManager) || i == 0 && strings.Contains(write.Request, "force=true") {
			w.Errorf("%+v, want the field manager %s without force", write, identity.FieldManager)
		}
	}
	return len(all)
}
