// Package apply holds what all of the operator's writers need besides server-side apply itself: which field managers
// conflict with an apply, how their fields are given up or taken over, and finalizers.
//
// A finalizer is added and removed by a patch of the list. It can't be applied: the operator's field manager has
// applied the objects that came from the control plane, so applying only the finalizer would give up every field of the
// spec.
package apply
