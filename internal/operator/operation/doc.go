// Package operation decides what becomes of an Operation: whether it may start, what its object says of it, and when it
// ends. Decide is a function of values; internal/operator/operation/controller reads them from a cluster and carries out
// what it returns.
//
// # Order
//
// An operation that starts is first written as Running, and its object is created after that. Its UID is recorded when
// the object is seen. So a crash between any two steps converges: an operation that is Running without a recorded UID
// creates its object (again, under the same name), and one with a recorded UID whose object is gone has lost it.
//
// # Who goes first
//
// Operations with one target may exclude each other (see Conflicts). One that may not start waits, Blocked, and starts by
// itself. It waits only for those that run, and for those before it in the order of creation that have nothing else to
// wait for. The first of any set of waiting operations therefore waits for none of them, and they can't wait for each
// other in a circle. An operation that has started is never checked again.
//
// # Whose the version is
//
// A HelmRelease has one writer, the controller of ApplicationInstance. An Upgrade writes nothing: while it runs, and
// after it has succeeded, OverlayOf says which version and values the instance's HelmRelease has instead of those that the
// instance declares. It counts until the user changes the instance's spec: what is declared later is newer, and should
// have the new version in it. An Upgrade that failed or was cancelled does not count, and the release goes back to what
// was before. One that counts can't be deleted: the release would go back without notice.
//
// # Ending
//
// The annotation ops.vworkspace.io/cancel, with any value but "" and "false", ends an operation; so does deleting it. The
// object is deleted first, and the operation is Cancelled when it is gone. Succeeded, Failed and Cancelled are final.
package operation
