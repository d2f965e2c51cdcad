// Package controller reconciles Operations: it reads the input of operation.Decide and carries out the result. It
// decides nothing itself.
//
// It has one worker, so two operations that exclude each other never start at the same time: the second one reads the
// status of the first from the API server. A reconcile waits only for the API server.
//
// A write carries the resource version on which the decision is based, and fails if that is outdated; then the
// reconcile is repeated. Objects are created under names determined by the operation. So if a reconcile ends between
// any two steps, the next one finishes the work.
package controller
