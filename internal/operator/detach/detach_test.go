package detach

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// TestWebhooksComeFirst: while the API server would ask webhooks that nobody serves, nothing is detached, and the error
// has the command that ends it. Webhooks that may be away are in nobody's way.
func TestWebhooksComeFirst(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1alpha1.AddToScheme, opsv1alpha1.AddToScheme, clientgo.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	served := meta.NewDefaultRESTMapper(nil)
	served.Add(own[0].kind, meta.RESTScopeNamespace)
	fail, ignore := admissionv1.Fail, admissionv1.Ignore
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, identity.WebhookConfiguration, nil)
	for name, row := range map[string]struct {
		policies []*admissionv1.FailurePolicyType
		unread   error
		refused  bool
	}{
		"none":                      {nil, nil, false},
		"refuses what is unchecked": {[]*admissionv1.FailurePolicyType{&ignore, &fail}, nil, true},
		"the default":               {[]*admissionv1.FailurePolicyType{nil}, nil, true},
		"may be away":               {[]*admissionv1.FailurePolicyType{&ignore}, nil, false},
		"may not be read":           {[]*admissionv1.FailurePolicyType{&fail}, forbidden, false},
	} {
		t.Run(name, func(t *testing.T) {
			instance := &appsv1alpha1.ApplicationInstance{ObjectMeta: metav1.ObjectMeta{
				Namespace: "prod", Name: "web", Finalizers: []string{identity.FinalizerInstance},
			}}
			objects := []client.Object{instance}
			if row.policies != nil {
				webhooks := &admissionv1.ValidatingWebhookConfiguration{}
				webhooks.Name = identity.WebhookConfiguration
				for _, policy := range row.policies {
					webhooks.Webhooks = append(webhooks.Webhooks, admissionv1.ValidatingWebhook{FailurePolicy: policy})
				}
				objects = append(objects, webhooks)
			}
			get := func(
				ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
			) error {
				if _, asked := object.(*admissionv1.ValidatingWebhookConfiguration); asked && row.unread != nil {
					return row.unread
				}
				return c.Get(ctx, key, object, opts...)
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(served).WithObjects(objects...).
				WithInterceptorFuncs(interceptor.Funcs{Get: get}).Build()
			err := Run(t.Context(), c, Options{Namespace: "system", Now: time.Now(), Out: t.Output()})
			const command = "kubectl delete validatingwebhookconfiguration tend-operator"
			if (err != nil) != row.refused || row.refused && !strings.Contains(err.Error(), command) {
				t.Errorf("%v", err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(instance), instance); err != nil {
				t.Fatal(err)
			}
			if kept := len(instance.Finalizers) > 0; kept != row.refused {
				t.Errorf("refused %v, the finalizers are %v", row.refused, instance.Finalizers)
			}
		})
	}
}
