// Package instance reconciles ApplicationInstances: it turns each into a chart source and a HelmRelease of Flux, and
// translates Flux's reports into the instance's conditions.
//
// Plan decides, from the instance, the observed objects and the time. Reconciler observes, calls Plan, carries out the
// result, and writes the status that Plan computes. It never calls Helm, and never reads a release's history or a
// Secret: Flux reads the values where they are. The package health reads the chart's own objects.
//
// All writes are server-side applies by one field manager, without force. A field that another manager set to another
// value is a conflict. The instance reports it in its condition Blocked and leaves the field alone, unless an
// annotation names that manager: then the operator takes the field over, once. A successful apply is recorded on the
// object as a hash of the applied object. While the hash equals that of the desired object, nothing is applied again: a
// field that differs was changed on purpose by another manager, and is reported as drift.
package instance
