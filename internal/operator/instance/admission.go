package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"tend.dev/tend/api"
	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/window"
)

// Admit returns why an instance must not be stored, or nil. The CRD's own rules are checked before; faults that only
// show later, such as a missing chart, are reported in the status. denied is the policy's refusal.
func Admit(instance *appsv1alpha1.ApplicationInstance, denied *bounds.RefusalError) error {
	if denied != nil {
		return denied
	}
	if _, err := window.Of(instance.Annotations); err != nil {
		return err
	}
	if instance.Spec.Mode == appsv1alpha1.ModePlaceholder {
		return nil
	}
	if fault := invalid(instance); fault != "" {
		return errors.New("spec: " + fault)
	}
	if instance.Spec.Values.Inline == nil {
		return nil
	}
	var values map[string]any
	if err := json.Unmarshal(instance.Spec.Values.Inline.Raw, &values); err != nil {
		return fmt.Errorf("spec.values.inline must be an object: %w", err)
	}
	if found := api.InlineSecrets(values); len(found) > 0 {
		return fmt.Errorf("InlineSecretMaterialRejected: spec.values.inline seems to have a secret at %s: "+
			"put the values into a Secret and name it in spec.values.secretRef", strings.Join(found, ", "))
	}
	return nil
}

// +kubebuilder:webhookconfiguration:mutating=false,name=tend-operator
// +kubebuilder:webhook:name=vapplicationinstance.kb.io,path=/validate-apps-vworkspace-io-v1alpha1-applicationinstance,mutating=false,failurePolicy=fail,sideEffects=None,groups=apps.vworkspace.io,resources=applicationinstances,verbs=create;update,versions=v1alpha1,admissionReviewVersions=v1,serviceName=tend-operator-webhook,serviceNamespace=vworkspace-system,timeoutSeconds=10

// AddWebhook adds the admission webhook of ApplicationInstances to a manager.
func AddWebhook(mgr manager.Manager, opts Options) error {
	v := &validator{Reconciler{Client: mgr.GetClient(), ClusterID: opts.ClusterID, Policy: opts.Policy}}
	if err := ctrl.NewWebhookManagedBy(mgr, &appsv1alpha1.ApplicationInstance{}).WithValidator(v).Complete(); err != nil {
		return fmt.Errorf("add the webhook of ApplicationInstances: %w", err)
	}
	return nil
}

// validator answers the API server. It needs a Reconciler only to evaluate the policy.
type validator struct{ Reconciler }

var _ admission.Validator[*appsv1alpha1.ApplicationInstance] = (*validator)(nil)

// ValidateCreate implements admission.Validator.
func (v *validator) ValidateCreate(
	ctx context.Context, instance *appsv1alpha1.ApplicationInstance,
) (admission.Warnings, error) {
	denied, err := v.denied(ctx, instance)
	if err != nil {
		return nil, err
	}
	return nil, Admit(instance, denied)
}

// ValidateUpdate implements admission.Validator. The rules only concern changes of the spec, the labels and the
// maintenance window.
func (v *validator) ValidateUpdate(
	ctx context.Context, before, after *appsv1alpha1.ApplicationInstance,
) (admission.Warnings, error) {
	old, had := before.Annotations[identity.AnnotationMaintenanceWindow]
	declared, has := after.Annotations[identity.AnnotationMaintenanceWindow]
	switch {
	case after.DeletionTimestamp != nil:
		return nil, nil
	case !reflect.DeepEqual(before.Spec, after.Spec) || !reflect.DeepEqual(before.Labels, after.Labels):
		return v.ValidateCreate(ctx, after)
	case had != has || old != declared:
		_, err := window.Of(after.Annotations)
		return nil, err
	}
	return nil, nil
}

// ValidateDelete implements admission.Validator.
func (v *validator) ValidateDelete(context.Context, *appsv1alpha1.ApplicationInstance) (admission.Warnings, error) {
	return nil, nil
}
