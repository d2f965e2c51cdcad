// Package v1alpha1 holds the Kubernetes kind ApplicationInstance of the group apps.vworkspace.io: one installed
// application, which the operator turns into a chart source and a HelmRelease of Flux.
//
// The CRD in deploy/operator/crd is generated from the markers of the types: run `make generate` after a change. A rule
// about the object alone is a CEL rule here, so it holds without a webhook. The reconciler and the webhook check rules
// that need more, such as the namespace or another object.
//
// +kubebuilder:object:generate=true
// +groupName=apps.vworkspace.io
package v1alpha1
