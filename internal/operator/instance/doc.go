// Package instance reconciles ApplicationInstances: it materializes each as a chart source and a HelmRelease of Flux, and
// translates what Flux reports into the instance's conditions.
//
// Plan decides, from the instance, what was observed and the time. Reconciler observes, has Plan decide, does what it says,
// and writes the status that Plan computes from the result. It never calls Helm, never reads a release's history or the
// chart's own objects, and never reads a Secret: Flux reads the values where they are.
//
// All writes are server-side applies by one field manager, without force. A field that another manager owns with another
// value is a conflict: the instance says so in its condition Blocked, and the field stays as it is, unless an annotation names that
// manager: then the field is taken over, once. An apply that succeeded
// is recorded on the object as a hash of what was applied. As long as the hash is that of the desired object nothing is
// applied again: a field that differs was changed by another, on purpose, and is reported as drift.
package instance
