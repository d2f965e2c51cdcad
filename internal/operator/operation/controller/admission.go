package controller

import (
	"context"
	"fmt"
	"reflect"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/operation"
)

// +kubebuilder:webhook:name=voperation.kb.io,path=/validate-ops-vworkspace-io-v1alpha1-operation,mutating=false,failurePolicy=fail,sideEffects=None,groups=ops.vworkspace.io,resources=operations,verbs=create;update,versions=v1alpha1,admissionReviewVersions=v1,serviceName=tend-operator-webhook,serviceNamespace=vworkspace-system,timeoutSeconds=10

// AddWebhook adds the admission webhook of Operations to a manager.
func AddWebhook(mgr manager.Manager, opts Options) error {
	v := &validator{Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), ClusterID: opts.ClusterID, Policy: opts.Policy, Now: opts.Now,
		VeleroNamespace: opts.VeleroNamespace, ApprovalSecret: opts.ApprovalSecret,
	}}
	if err := ctrl.NewWebhookManagedBy(mgr, &opsv1alpha1.Operation{}).WithValidator(v).Complete(); err != nil {
		return fmt.Errorf("add the webhook of Operations: %w", err)
	}
	return nil
}

// validator answers the API server. It observes what a reconcile would observe, and does nothing.
type validator struct{ Reconciler }

var _ admission.Validator[*opsv1alpha1.Operation] = (*validator)(nil)

// ValidateCreate implements admission.Validator.
func (v *validator) ValidateCreate(ctx context.Context, op *opsv1alpha1.Operation) (admission.Warnings, error) {
	in, err := v.observe(ctx, op)
	if err != nil {
		return nil, err
	}
	waits, err := operation.Admit(in)
	if err != nil || waits == "" {
		return nil, err
	}
	return admission.Warnings{"it will wait: " + waits}, nil
}

// ValidateUpdate implements admission.Validator. The rules only concern changes of the spec and the labels, before the
// operation has started: afterwards the CRD's rules fix the spec.
func (v *validator) ValidateUpdate(
	ctx context.Context, before, after *opsv1alpha1.Operation,
) (admission.Warnings, error) {
	same := reflect.DeepEqual(before.Spec, after.Spec) && reflect.DeepEqual(before.Labels, after.Labels)
	if same || after.DeletionTimestamp != nil || after.Status.StartedAt != nil {
		return nil, nil
	}
	return v.ValidateCreate(ctx, after)
}

// ValidateDelete implements admission.Validator.
func (v *validator) ValidateDelete(context.Context, *opsv1alpha1.Operation) (admission.Warnings, error) {
	return nil, nil
}
