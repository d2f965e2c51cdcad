//go:build kube

package link_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

const roles = "../../../deploy/operator/rbac/role.yaml"

// TestRolesSuffice: with only the generated roles and the optional one for health, without which what a chart made is
// unknown, the operator is refused nothing. It registers, runs an application and an operation to their end, holds its
// lease, writes Events and handles the certificate of its webhooks.
func TestRolesSuffice(t *testing.T) {
	w := emptyWorld(t)
	refusals := w.confine()
	w.allow("health")
	defer func() {
		w.stop()
		if all := refusals.list(); len(all) > 0 {
			t.Errorf("the operator was refused:\n%s", strings.Join(all, "\n"))
		}
	}()
	w.asks()
	w.operate()
	w.admits()
	w.connect()
	object := web(w.name, w.namespace, 1)
	object.Metadata.Annotations = map[string]string{identity.CapabilityPrefix + "runcommand": "job"}
	w.tend.put(object)
	w.installs()
	w.tend.says("ready", object, isReady(1, "HelmReleaseReady"))
	w.runs()
	w.deletes(object)
	w.leads()
	w.reports("HelmReleaseReady", "ConnectivityConnected")
}

// TestRolesAllowNothingElse makes requests that an operator has no reason to make.
func TestRolesAllowNothingElse(t *testing.T) {
	w := emptyWorld(t)
	w.confine()
	other := w.Namespace(t)
	operator, err := client.New(w.connection, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	meta := func(namespace string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: "x"} }
	for what, try := range map[string]func(context.Context) error{
		"list the Secrets of others": func(ctx context.Context) error {
			return operator.List(ctx, &corev1.SecretList{}, client.InNamespace(other))
		},
		"write a Secret of others": func(ctx context.Context) error { return operator.Create(ctx, &corev1.Secret{ObjectMeta: meta(other)}) },
		"read a ConfigMap of others": func(ctx context.Context) error {
			return operator.Get(ctx, client.ObjectKey{Namespace: other, Name: "x"}, &corev1.ConfigMap{})
		},
		"write another ConfigMap": func(ctx context.Context) error {
			return operator.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta(w.namespace)})
		},
		"take the lease of others": func(ctx context.Context) error {
			return operator.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta(other)})
		},
		"run a pod": func(ctx context.Context) error { return operator.Create(ctx, &corev1.Pod{ObjectMeta: meta(other)}) },
		"delete a namespace": func(ctx context.Context) error {
			return operator.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}})
		},
		"delete the Cluster": func(ctx context.Context) error {
			return operator.Delete(ctx, &opsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
		},
		"overwrite an ApplicationInstance": func(ctx context.Context) error {
			return operator.Update(ctx, &appsv1alpha1.ApplicationInstance{ObjectMeta: meta(other)})
		},
		"change the webhooks of others": func(ctx context.Context) error {
			webhooks := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta("")}
			return operator.Patch(ctx, webhooks, client.RawPatch("application/merge-patch+json", []byte(`{"webhooks":[]}`)))
		},
		"give itself more": func(ctx context.Context) error {
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
			return operator.Patch(ctx, role, client.RawPatch("application/merge-patch+json", []byte(`{"rules":[]}`)))
		},
	} {
		if err := try(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
}

// confine gives the operator a service account with only the generated roles. The role for its own namespace is moved
// to the test's, as when it is installed elsewhere.
func (w *world) confine() *refusals {
	w.Helper()
	text, err := os.ReadFile(roles)
	if err != nil {
		w.Fatal(err)
	}
	documents := strings.Split(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	var everywhere rbacv1.ClusterRole
	var here rbacv1.Role
	if len(documents) != 2 || yaml.UnmarshalStrict([]byte(documents[0]), &everywhere) != nil ||
		yaml.UnmarshalStrict([]byte(documents[1]), &here) != nil {
		w.Fatalf("%s has %d documents, want a ClusterRole and a Role", roles, len(documents))
	}
	everywhere.Name, here.Namespace = w.namespace, w.namespace
	account := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tend-operator"}}
	for _, object := range []client.Object{&everywhere, &here,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Subjects: account,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: everywhere.Name},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "tend-operator"}, Subjects: account,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: here.Name},
		},
	} {
		if err := w.user.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
	seen := &refusals{}
	w.connection, w.elects = w.As(w.agent()), true
	w.connection.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + w.namespace + ":tend-operator",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + w.namespace, "system:authenticated"},
	}
	w.connection.Wrap(func(next http.RoundTripper) http.RoundTripper { return seen.of(next) })
	return seen
}

// asks makes the API server call the operator's webhooks before it stores objects in the test's namespace.
func (w *world) asks() {
	w.Helper()
	host := net.IPv4(127, 54, byte(os.Getpid()>>8), byte(os.Getpid())).String()
	w.webhooks = &operator.Webhooks{Host: host, Names: []string{host}}
	text, err := os.ReadFile("../../../deploy/operator/webhook/manifests.yaml")
	if err != nil {
		w.Fatal(err)
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(text, configuration); err != nil {
		w.Fatal(err)
	}
	for i := range configuration.Webhooks {
		webhook := &configuration.Webhooks[i]
		address := "https://" + host + ":9443" + *webhook.ClientConfig.Service.Path
		webhook.ClientConfig = admissionv1.WebhookClientConfig{URL: &address}
		webhook.NamespaceSelector = &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace},
		}
	}
	if err := w.user.Create(w.Context(), configuration); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := w.user.Delete(context.Background(), configuration); err != nil {
			w.Errorf("delete the configuration of the webhooks: %v", err)
		}
	})
}

// admits waits until the operator answers with a certificate that the API server trusts: it refuses an instance with a
// secret.
func (w *world) admits() {
	w.Helper()
	kubetest.Eventually(w, "the webhooks", func(ctx context.Context) error {
		secret := `{"password":"hunter2"}`
		err := w.user.Create(ctx, &appsv1alpha1.ApplicationInstance{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "refused"},
			Spec: appsv1alpha1.ApplicationInstanceSpec{
				AppRef:  appsv1alpha1.AppRef{CatalogID: "web"},
				Chart:   &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceOCI, URL: "oci://registry.example.org/charts", Name: "web", Version: "1.0.0"},
				Release: &appsv1alpha1.Release{Name: "refused", Namespace: w.namespace},
				Values: &appsv1alpha1.Values{
					Source: appsv1alpha1.ValuesInline, Inline: &runtime.RawExtension{Raw: []byte(secret)},
				},
			},
		})
		if err == nil || !strings.Contains(err.Error(), "InlineSecretMaterialRejected") {
			return fmt.Errorf("an instance with a secret: %w", err)
		}
		return nil
	})
}

const jobDone = `{"status":{"startTime":"2026-11-25T12:00:00Z","completionTime":"2026-11-25T12:01:00Z","succeeded":1,"uncountedTerminatedPods":{},"conditions":[
	{"type":"SuccessCriteriaMet","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-25T12:01:00Z"},
	{"type":"Complete","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-25T12:01:00Z"}]}}`

// runs lets an operation run a Job to its end, and deletes the operation.
func (w *world) runs() {
	w.Helper()
	runner := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: identity.RunnerServiceAccount},
	}
	if err := w.user.Create(w.Context(), runner); err != nil {
		w.Fatal(err)
	}
	op := &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "run"},
		Spec: opsv1alpha1.OperationSpec{
			TargetRef:  opsv1alpha1.TargetRef{APIVersion: "apps.vworkspace.io/v1alpha1", Kind: "ApplicationInstance", Name: "web"},
			Type:       opsv1alpha1.TypeRunCommand,
			Engine:     opsv1alpha1.EngineJob,
			Parameters: &runtime.RawExtension{Raw: []byte(`{"image":"busybox:1"}`)},
		},
	}
	if err := w.user.Create(w.Context(), op); err != nil {
		w.Fatal(err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "run"}}
	kubetest.Eventually(w, "the Job", func(ctx context.Context) error {
		return w.user.Get(ctx, client.ObjectKeyFromObject(job), job)
	})
	if err := w.user.Status().Patch(w.Context(), job, client.RawPatch("application/merge-patch+json", []byte(jobDone))); err != nil {
		w.Fatal(err)
	}
	kubetest.Eventually(w, "the operation", func(ctx context.Context) error {
		if err := w.user.Get(ctx, client.ObjectKeyFromObject(op), op); err != nil ||
			op.Status.Phase != opsv1alpha1.PhaseSucceeded {
			return fmt.Errorf("it is %s (%w)", op.Status.Phase, err)
		}
		return nil
	})
	if err := w.user.Delete(w.Context(), op); err != nil {
		w.Fatal(err)
	}
	kubetest.Eventually(w, "the end of the operation", func(ctx context.Context) error {
		if err := w.user.Get(ctx, client.ObjectKeyFromObject(op), op); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// leads checks that the operator holds the lease and has announced it.
func (w *world) leads() {
	w.Helper()
	var lease coordinationv1.Lease
	if err := w.user.Get(w.Context(), client.ObjectKey{
		Namespace: w.namespace, Name: identity.LeaderLease,
	}, &lease); err != nil {
		w.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		w.Errorf("the lease is nobody's: %+v", lease.Spec)
	}
	w.reports("LeaderElection")
}

// reports waits for Events with the reasons. Events of a Cluster are in the namespace default.
func (w *world) reports(reasons ...string) {
	w.Helper()
	kubetest.Eventually(w, "Events", func(ctx context.Context) error {
		var found []string
		for _, namespace := range []string{w.namespace, metav1.NamespaceDefault} {
			var events corev1.EventList
			if err := w.user.List(ctx, &events, client.InNamespace(namespace)); err != nil {
				return err
			}
			for _, event := range events.Items {
				if about := event.InvolvedObject; about.Namespace == w.namespace || about.Name == w.name {
					found = append(found, event.Reason)
				}
			}
		}
		for _, reason := range reasons {
			if !slices.Contains(found, reason) {
				return fmt.Errorf("there are Events with the reasons %v, want %s", found, reason)
			}
		}
		return nil
	})
}

// refusals records the requests that the API server refused for lack of rights.
type refusals struct {
	mu  sync.Mutex
	all []string
}

func (r *refusals) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func (r *refusals) of(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusForbidden {
			r.mu.Lock()
			r.all = append(r.all, request.Method+" "+request.URL.Path)
			r.mu.Unlock()
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
