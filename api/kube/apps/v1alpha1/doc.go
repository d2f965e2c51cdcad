// Package v1alpha1 holds the Kubernetes kind ApplicationInstance of the group apps.vworkspace.io: one installed
// application, which the operator materializes as a chart source and a HelmRelease of Flux.
//
// The markers of the types are the source of the CRD in deploy/operator/crd: run `make generate` after a change. A rule
// that can be checked from the object alone is a CEL rule here, so that it holds without a webhook. What needs more than
// the object (its namespace, another object) is checked by the reconciler and by the webhook.
//
// +kubebuilder:object:generate=true
// +groupName=apps.vworkspace.io
package v1alpha1
