// Package v1alpha1 holds the Kubernetes kinds of the group ops.vworkspace.io: Operation, one action that an engine
// performs once on an ApplicationInstance, and Cluster, the operator's connection to its control plane.
//
// The CRDs in deploy/operator/crd are generated from the markers of the types: run `make generate` after a change. A
// rule about the object alone is a CEL rule here, so it holds without a webhook. One of these rules is that a terminal
// phase never changes.
//
// +kubebuilder:object:generate=true
// +groupName=ops.vworkspace.io
package v1alpha1
