// Package apply holds what every writer of the operator needs besides server-side apply itself: which field manager is in the way
// of an apply without force, how its fields are given up or taken over, and finalizers.
//
// A finalizer is added and removed by a patch of the list. It can't be applied: an object that came from the control plane was
// applied by the operator's one field manager, and an apply of the finalizer alone would give up every field of its spec.
package apply
