//go:build kube

package operator_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// admitted is an API server that calls an operator's webhooks, and a user who reads its warnings.
type admitted struct {
	*testing.T
	server          *kubetest.Server
	host, namespace string
	user            client.Client

	mu       sync.Mutex
	warnings []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (a *admitted) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.warnings = append(a.warnings, text)
}

// warned returns the warnings since the last call.
func (a *admitted) warned() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := strings.Join(a.warnings, "\n")
	a.warnings = nil
	return said
}

// newAdmitted starts an API server with the generated webhook configuration; only the address is changed.
func newAdmitted(t *testing.T) *admitted {
	t.Helper()
	server, err := kubetest.Start(kubetest.Tend, kubetest.Flux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	a := &admitted{
		T: t, server: server, namespace: server.Namespace(t),
		host: net.IPv4(127, 53, byte(os.Getpid()>>8), byte(os.Getpid())).String(),
	}
	config := rest.CopyConfig(server.As("user"))
	config.WarningHandlerWithContext = a
	if a.user, err = client.New(config, client.Options{Scheme: kubetest.Scheme(), FieldOwner: "user"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../deploy/operator/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	webhooks := &admissionv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(text, webhooks); err != nil {
		t.Fatal(err)
	}
	for i := range webhooks.Webhooks {
		to := &webhooks.Webhooks[i].ClientConfig
		address := fmt.Sprintf("https://%s:9443%s", a.host, *to.Service.Path)
		to.Service, to.URL = nil, &address
	}
	if err := server.Client(t, "install").Create(t.Context(), webhooks); err != nil {
		t.Fatal(err)
	}
	return a
}

// operate runs an operator with webhooks until the test ends.
func (a *admitted) operate() {
	a.Helper()
	made, err := operator.NewManager(a.server.As("operator"), operator.Options{
		Namespace: a.namespace, ClusterID: "berlin", Retry: 50 * time.Millisecond, ApprovalSecret: []byte("shared"),
		Webhooks: &operator.Webhooks{Host: a.host, Names: []string{a.host}},
	})
	if err != nil {
		a.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	a.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			a.Errorf("the operator ended: %v", err)
		}
	})
}

func (a *admitted) instance(
	name, values string, change func(*appsv1alpha1.ApplicationInstance),
) *appsv1alpha1.ApplicationInstance {
	instance := &appsv1alpha1.ApplicationInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name, Annotations: map[string]string{"ops.vworkspace.io/restore": "velero"}},
		Spec: appsv1alpha1.ApplicationInstanceSpec{
			AppRef:  appsv1alpha1.AppRef{CatalogID: "web"},
			Chart:   &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceOCI, URL: "oci://registry.example.org/charts", Name: "web", Version: "1.0.0"},
			Release: &appsv1alpha1.Release{Name: name, Namespace: a.namespace},
			Values:  &appsv1alpha1.Values{Source: appsv1alpha1.ValuesInline, Inline: &runtime.RawExtension{Raw: []byte(values)}},
		},
	}
	if change != nil {
		change(instance)
	}
	return instance
}

func (a *admitted) operation(
	name, target string, kind opsv1alpha1.OperationType, engine opsv1alpha1.Engine, parameters, claim string,
) *opsv1alpha1.Operation {
	op := &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name},
		Spec: opsv1alpha1.OperationSpec{
			TargetRef: opsv1alpha1.TargetRef{APIVersion: "apps.vworkspace.io/v1alpha1", Kind: "ApplicationInstance", Name: target},
			Type:      kind, Engine: engine, Parameters: &runtime.RawExtension{Raw: []byte(parameters)},
		},
	}
	if claim != "" {
		op.Spec.Approvals = &opsv1alpha1.Approvals{Claim: claim}
	}
	return op
}

// TestWebhooks: without the operator nothing is stored. With it, objects that could never run are refused, those that
// will wait cause a warning, and the operator's own writes pass.
func TestWebhooks(t *testing.T) {
	a := newAdmitted(t)
	if err := a.user.Create(t.Context(), a.instance("web", `{}`, nil)); err == nil || !strings.Contains(err.Error(), "vapplicationinstance.kb.io") {
		t.Fatalf("without the operator: %v", err)
	}
	a.operate()
	kubetest.Eventually(t, "the webhooks", func(ctx context.Context) error { return a.user.Create(ctx, a.instance("web", `{}`, nil)) })
	a.refusesInstances()
	a.judgesOperations()
	a.leavesTheRest()
	a.renews()
}

func (a *admitted) refusesInstances() {
	closed := a.server.Namespace(a)
	a.label(closed, "")
	for want, instance := range map[string]*appsv1alpha1.ApplicationInstance{
		"InlineSecretMaterialRejected: spec.values.inline seems to have a secret at db.password": a.instance("s", `{"db":{"password":"hunter2"}}`, nil),
		"list[0]": a.instance("s", `{"list":["-----BEGIN RSA PRIVATE KEY-----\nMII"]}`, nil),
		"NamespaceNotGated: the operator doesn't work in the namespace " + closed: a.instance("s", `{}`, func(i *appsv1alpha1.ApplicationInstance) {
			i.Namespace, i.Spec.Release.Namespace = closed, closed
		}),
		"OtherCluster": a.instance("s", `{}`, func(i *appsv1alpha1.ApplicationInstance) {
			i.Labels = map[string]string{identity.LabelClusterID: "paris"}
		}),
		"duration is \"2\"": a.instance("s", `{}`, func(i *appsv1alpha1.ApplicationInstance) {
			i.Annotations[identity.AnnotationMaintenanceWindow] = `{schedule: "0 2 * * 0", duration: 2}`
		}),
		"release.namespace is elsewhere": a.instance("s", `{}`, func(i *appsv1alpha1.ApplicationInstance) { i.Spec.Release.Namespace = "elsewhere" }),
	} {
		if err := a.user.Create(a.Context(), instance); err == nil || !strings.Contains(err.Error(), want) {
			a.Errorf("want %q: %v", want, err)
		}
	}
	if err := a.user.Create(a.Context(), a.instance("fine", `{"existingSecret":"nextcloud-postgresql","auth":{"password":""}}`, nil)); err != nil {
		a.Errorf("a Secret's name was refused: %v", err)
	}
}

// label sets the label of the gate on a namespace, or removes it.
func (a *admitted) label(name, value string) {
	a.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, identity.LabelNamespaceGate)
	if value != "" {
		patch = fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, identity.LabelNamespaceGate, value)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := a.user.Patch(a.Context(), namespace, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		a.Fatal(err)
	}
}

func (a *admitted) judgesOperations() {
	forged, err := approvaltest.Sign(approval.Claim{Operation: "forged", Expires: time.Now().Add(time.Hour).Unix()}, []byte("guessed"))
	if err != nil {
		a.Fatal(err)
	}
	const backup = `{"backupName":"b"}`
	for name, test := range map[string]struct {
		operation        *opsv1alpha1.Operation
		refused, warning string
	}{
		"no template":    {operation: a.operation("x", "web", opsv1alpha1.TypeBackup, opsv1alpha1.EngineHelm, `{}`, ""), refused: "engines that can are velero, volsync"},
		"bad parameters": {operation: a.operation("x", "web", opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero, `{"backup":"b"}`, ""), refused: "spec.parameters"},
		"forged":         {operation: a.operation("forged", "web", opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero, backup, forged), refused: "digest"},
		"no target":      {operation: a.operation("early", "later", opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero, backup, ""), warning: "it will wait: there is no ApplicationInstance later"},
		"no capability":  {operation: a.operation("able", "web", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, `{}`, ""), warning: "does not advertise Backup"},
		"not approved":   {operation: a.operation("asks", "web", opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero, backup, ""), warning: "claim"},
	} {
		_ = a.warned()
		err := a.user.Create(a.Context(), test.operation)
		if test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
			a.Errorf("%s: %v, want a refusal that says %q", name, err, test.refused)
		}
		if said := a.warned(); test.warning != "" && (err != nil || !strings.Contains(said, test.warning)) {
			a.Errorf("%s: %v, warned %q, want %q", name, err, said, test.warning)
		}
	}
}

// leavesTheRest: changes of a status, a finalizer or an annotation, and deletions, are never refused, even if the rules
// now refuse the object.
func (a *admitted) leavesTheRest() {
	a.label(a.namespace, "")
	read := func(ctx context.Context) (*appsv1alpha1.ApplicationInstance, error) {
		instance := &appsv1alpha1.ApplicationInstance{}
		return instance, a.user.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: "web"}, instance)
	}
	kubetest.Eventually(a, "the operator's status", func(ctx context.Context) error {
		instance, err := read(ctx)
		if err != nil {
			return err
		}
		if c := meta.FindStatusCondition(instance.Status.Conditions, "Blocked"); c == nil || c.Reason != "PolicyDenied" ||
			!slices.Contains(instance.Finalizers, identity.FinalizerInstance) {
			return fmt.Errorf("finalizers %v, conditions %+v", instance.Finalizers, instance.Status.Conditions)
		}
		return nil
	})
	annotate := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
	upgrade := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"chart":{"version":"2.0.0"}}}`))
	instance, err := read(a.Context())
	if err != nil {
		a.Fatal(err)
	}
	if err := a.user.Patch(a.Context(), instance, annotate); err != nil {
		a.Errorf("an annotation: %v", err)
	}
	if err := a.user.Patch(a.Context(), instance, upgrade); err == nil || !strings.Contains(err.Error(), "NamespaceNotGated") {
		a.Errorf("a change of the spec: %v", err)
	}
	if err := a.user.Delete(a.Context(), instance); err != nil {
		a.Errorf("a deletion: %v", err)
	}
	kubetest.Eventually(a, "the end of the instance", func(ctx context.Context) error {
		if _, err := read(ctx); client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
	a.label(a.namespace, identity.NamespaceGate)
}

// renews: if the certificate and its authority are lost, a new one is made, trusted and served without a restart.
func (a *admitted) renews() {
	trusted := func(ctx context.Context) string {
		webhooks := &admissionv1.ValidatingWebhookConfiguration{}
		if err := a.user.Get(ctx, client.ObjectKey{Name: identity.WebhookConfiguration}, webhooks); err != nil {
			a.Fatal(err)
		}
		return string(webhooks.Webhooks[0].ClientConfig.CABundle)
	}
	before := trusted(a.Context())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: identity.SecretWebhook}}
	if err := a.user.Delete(a.Context(), secret); err != nil {
		a.Fatal(err)
	}
	kubetest.Eventually(a, "another authority", func(ctx context.Context) error {
		if trusted(ctx) == before {
			return errors.New("the one before is trusted")
		}
		return nil
	})
	kubetest.Eventually(a, "an answer", func(ctx context.Context) error { return a.user.Create(ctx, a.instance("after", `{}`, nil)) })
	a.applied()
}

// applied: the Secret is only ever written by server-side apply, and has the label of the cluster.
func (a *admitted) applied() {
	secret := &corev1.Secret{}
	if err := a.user.Get(a.Context(), client.ObjectKey{
		Namespace: a.namespace, Name: identity.SecretWebhook,
	}, secret); err != nil {
		a.Fatal(err)
	}
	for _, entry := range secret.ManagedFields {
		if entry.Manager != identity.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply {
			a.Errorf("the Secret was written by %s by %s", entry.Manager, entry.Operation)
		}
	}
	if got := secret.Labels[identity.LabelClusterID]; got != "berlin" {
		a.Errorf("the Secret has the label %s=%q", identity.LabelClusterID, got)
	}
}
