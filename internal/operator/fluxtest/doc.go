// Package fluxtest runs the operator against the real controllers of Flux: source-controller and helm-controller, built from
// their modules, on a real API server, with a registry and a repository of charts that a test serves. Its tests carry the build
// tag flux; `make test-flux` runs them.
//
// What Flux says at each step of a story is recorded in the testdata of kubetest, whose played Flux says nothing else.
//
// Example:
//
//	repository := fluxtest.Serve()
//	repository.Push(fluxtest.Chart{Name: "web", Version: "1.0.0"})
package fluxtest
