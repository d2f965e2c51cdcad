// Package kube is the root of the kinds that Tend's operator adds to Kubernetes. `make generate` generates their CRDs
// and deep copies from the types and markers below it.
package kube

//go:generate go tool -modfile=../../tools/kubegen/go.mod controller-gen object paths=./...
//go:generate go tool -modfile=../../tools/kubegen/go.mod controller-gen crd paths=./... output:crd:dir=../../deploy/operator/crd
