// Package detach unties applications from the operator, so that it can be uninstalled while they keep running: it removes the
// operator's finalizers, and the owner references by which Kubernetes would delete the HelmReleases with their instances. It
// deletes nothing, and refuses to work beside an operator that holds its lease.
//
// Example:
//
//	err := detach.Run(ctx, client, detach.Options{Namespace: "vworkspace-system", Now: time.Now(), Out: os.Stdout})
package detach
