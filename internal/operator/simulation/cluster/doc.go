// Package cluster is the API server of a Kubernetes cluster in memory. A client reaches it through an
// http.RoundTripper, so the real client, its caches and its watches run over it, without a network.
//
// It keeps the promises that controllers depend on: resource versions and conflicts, generations, the status
// subresource, server-side apply with field managers, finalizers, preconditions, watches that resume and that begin
// with the stored objects, and namespaces that refuse new objects while they are deleted. It doesn't validate objects
// against their schemas.
//
// Example:
//
//	made := cluster.New()
//	config := &rest.Config{Host: "http://cluster", Transport: made.As(cluster.Client{Name: "operator"})}
package cluster
