// Package clusterjob holds the kinds of objects that are delivered to Kubernetes clusters, and the kind of the clusters
// themselves.
//
// For each application instance and operation it keeps the one job that its cluster's operator should do
// (internal/core/clusterjob decides it), and computes the status from the operator's reports. A finished job stays
// stored until another replaces it, so nothing is sent twice. A deleted object stays until its cluster has confirmed
// that the resource is gone, or until a user declares it an orphan.
//
// The package talks to no cluster: operators request jobs, and internal/server/clusterapi answers from the store. It
// never changes a spec.
package clusterjob
