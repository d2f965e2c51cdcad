// Package clusterjob decides what a Kubernetes cluster's operator is to do, and what its answers mean.
//
// Decide compares one object with the job that is stored for it and with what the operator has reported, and returns
// the job that should be stored and the object's status. Acknowledge, TakeStatus, TakeResult and TakeEvent add an
// answer of the operator to the report. A job is sent until it is acknowledged, and again once its lease is over
// without a result, or when an operator that has just started asks for what is unfinished: one that dies between any
// two steps loses nothing; the job's key makes the second time a no-op. What an answer says of an older generation
// never replaces what is known of a newer one.
//
//	decision := clusterjob.Decide(clusterjob.Input{Object: object, Job: job, Report: report, Cluster: known, Now: now})
//
// It never changes a spec, and knows neither the store nor HTTP.
package clusterjob
