// Package cluster connects a Kubernetes cluster to its control plane, as its Cluster object says.
//
// Decide is a function of values: from the Cluster, the Secrets and the state of the connection it returns the status, and what the
// connection is to do. The Reconciler reads and writes, and never waits for the control plane: the Connection does, in goroutines of
// the one operator that is elected. It registers, rotates, and runs the agent; each end of something is another reconcile.
//
// The Applier, the credentials' Secret and the ConfigMap of applied jobs are what the agent of package agent is given. What it
// applies has the field manager of all that the operator writes. It is forced only where the control plane takes back what others changed.
package cluster
