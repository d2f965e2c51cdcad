// Package fit decides whether a node's runtime can run a pod.
//
// There are two kinds of runtime: container engines, and plain processes of the node. Of reads from a spec which kind
// the pod needs, and why; Need.Takes reports whether a runtime can run the pod. Placement, the search for an image,
// the default order of a rollout and the messages that say what is missing all use these two, so they can't disagree.
//
// It knows no node, places nothing and writes nothing.
//
//	need := fit.Of(spec, fit.Facts{Runtime: "docker"})
//	need.Takes("process") // false: the image is one of a container engine
package fit
