// Package link connects a Kubernetes cluster to its control plane, as its Cluster object says.
//
// Decide is a pure function: from the Cluster, the Secrets and the state of the connection it returns the status and a
// request for the connection. The Reconciler reads and writes, and never waits for the control plane. The Connection
// does, in goroutines of the elected operator: it registers, rotates and runs the puller, and causes another reconcile
// whenever something ends.
//
// The package implements the interfaces of package puller with the Applier, the Secret of the credentials and the
// ConfigMap of applied jobs. The Applier uses the operator's field manager. It applies with force only if the control
// plane takes back fields that others changed.
package link
