// Package lab holds the kind of labs. Its step reads a lab with what people asked of it, its tasks, releases and image, has
// internal/core/lab decide, and returns the whole decision as one commit.
//
// The image is requested as soon as the lab is stored, so that it is there at its start. A release is made together with
// the container that needs it. The commit compares the status it was decided from, so that two reconciles of one lab, or
// two servers, make one container. The engine's requeue brings a lab back at its start and at its end; its pass over all
// labs is the net below that.
//
// It never changes the spec: more time, or an early end, is a record of its own, which internal/verbs writes. It never
// places a task and never touches a container.
package lab
