// Package operation decides about an Operation: whether it may start, what its object's state means for it, and when it
// ends. Decide is a pure function; internal/operator/operation/controller reads its input from a cluster and carries
// out the result.
//
// # Order
//
// Starting an operation first writes it as Running, and then creates its object. The object's UID is recorded once the
// object is seen. So a crash between any two steps converges: a Running operation without a recorded UID creates its
// object (again, under the same name), and one with a recorded UID but without an object has lost it.
//
// # Order of conflicting operations
//
// Operations on one target may exclude each other (see Conflicts). An operation that may not start is Blocked and
// starts later by itself. It waits only for running operations, and for operations created before it that have nothing
// else to wait for. The first of any set of waiting operations therefore waits for none of them, so they can't wait for
// each other in a circle. An operation that has started is not checked again.
//
// # The owner of the version
//
// Only the controller of ApplicationInstance writes a HelmRelease. An Upgrade writes nothing: while it runs, and after
// it has succeeded, OverlayOf returns the version and values that the HelmRelease has instead of the declared ones. The
// Upgrade counts until the user changes the instance's spec: the later declaration is newer, and should contain the new
// version. An Upgrade that failed or was cancelled doesn't count, and the release returns to the previous state. An
// Upgrade that counts can't be deleted, because the release would change without notice.
//
// # Ending
//
// The annotation ops.vworkspace.io/cancel, with any value but "" and "false", ends an operation; so does deleting it.
// The object is deleted first. When it is gone, the operation is Cancelled. Succeeded, Failed and Cancelled are final.
package operation
