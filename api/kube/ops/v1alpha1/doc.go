// Package v1alpha1 holds the Kubernetes kinds of the group ops.vworkspace.io: Operation, one thing done once to an
// ApplicationInstance by an engine, and Cluster, what the operator is to its control plane.
//
// The markers of the types are the source of the CRDs in deploy/operator/crd: run `make generate` after a change. Rules
// that can be checked from the object alone are CEL rules here, so that they hold without a webhook; among them is that a
// terminal phase never changes.
//
// +kubebuilder:object:generate=true
// +groupName=ops.vworkspace.io
package v1alpha1
