package servingcert

import (
	"context"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"tend.dev/tend/internal/operator/identity"
)

// TestWhatOthersRestored: a person, or a restore of the cluster, has written the Secret with a certificate that is no
// longer valid, and the authority that the API server trusts. Both are replaced.
func TestWhatOthersRestored(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	old, _, err := Plan(nil, []string{"tend"}, now.AddDate(-30, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "webhooks"}, Type: "Opaque", Data: old}
	none, url := admissionv1.SideEffectClassNone, "https://tend"
	webhooks := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: identity.WebhookConfiguration},
		Webhooks: []admissionv1.ValidatingWebhook{{Name: "a.tend.dev", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{URL: &url, CABundle: old[keyAuthority]}}},
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithReturnManagedFields().Build()
	for _, object := range []client.Object{secret, webhooks} {
		if err := c.Create(t.Context(), object, client.FieldOwner("kubectl")); err != nil {
			t.Fatal(err)
		}
	}
	r := &reconciler{client: c, live: c, secret: client.ObjectKeyFromObject(secret), Options: Options{
		Names: []string{"tend"}, Certificate: &Certificate{}, Now: func() time.Time { return now },
		ClusterID: func(context.Context) (string, error) { return "c-1", nil },
	}}
	for range 2 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Certificate.Get(nil); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), r.secret, secret); err != nil || same(secret.Data, old) {
		t.Errorf("the certificate is not renewed: %v", err)
	}
	err = c.Get(t.Context(), client.ObjectKeyFromObject(webhooks), webhooks)
	if err != nil || string(webhooks.Webhooks[0].ClientConfig.CABundle) != string(secret.Data[keyAuthority]) {
		t.Errorf("the authority is not trusted: %v", err)
	}
}
