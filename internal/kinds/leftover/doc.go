// Package leftover forgets the leftovers: ended tasks whose nodes didn't answer when their ordinals were given to
// others, or their objects were deleted. A node that answers again removes the container, and then its report on the
// task; one that was removed from the cluster has nothing left to remove. The object may be gone by then, so no owner's
// step can do it.
//
// It stops nothing: that is written in the task already, and is carried out by the node.
package leftover
