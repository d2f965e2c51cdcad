// Package cluster holds the kinds of what is delivered to Kubernetes clusters, and of the clusters themselves.
//
// Of each application instance and operation it keeps the one job that its cluster's operator is to do (internal/core/cluster
// decides it), and makes the status from what the operator reported. A job that is done stays stored until another takes its place,
// so nothing is sent twice. A deleted object stays until its cluster has answered that the resource is gone, or until a user says
// that it is an orphan.
//
// The package speaks to no cluster: operators ask for jobs, and internal/clusterapi answers them from the store. It never changes a
// spec.
package cluster
