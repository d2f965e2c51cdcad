// Package fluxtest tests the operator with Flux's real controllers: source-controller and helm-controller, built from
// their modules. They run on a real API server, with a registry and a repository of charts that a test serves. Its
// tests have the build tag flux; `make test-flux` runs them.
//
// Flux's reports at each step of a story are recorded in the testdata of package kubetest, whose simulated Flux reports
// nothing else.
//
// Example:
//
//	repository := fluxtest.Serve()
//	repository.Push(fluxtest.Chart{Name: "web", Version: "1.0.0"})
package fluxtest
