// Package detach detaches applications from the operator, so that the operator can be uninstalled while they keep
// running. It removes the operator's finalizers, and the owner references through which Kubernetes would delete the
// HelmReleases with their instances. It deletes nothing, and refuses to run beside an operator that holds its lease, or
// while the API server asks the operator's webhooks.
//
// Example:
//
//	err := detach.Run(ctx, client, detach.Options{Namespace: "vworkspace-system", Now: time.Now(), Out: os.Stdout})
package detach
