// Package lab holds the kind of labs. Its step reads a lab with people's requests for it, its tasks, releases and
// image, lets internal/core/lab decide, and returns the whole decision as one commit.
//
// The image is requested as soon as the lab is stored, so that it is there at the start. A release is created together
// with the container that needs it. The commit requires the status on which the decision is based, so that two
// reconciles of a lab, or two servers, make one container. The queue reconciles a lab at its start and its
// end; in case that is missed, its pass over all labs does.
//
// The package never changes the spec: an extension or an early end is a separate record, which internal/control/verbs
// writes. It never places a task and never touches a container.
package lab
