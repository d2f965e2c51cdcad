// Package controller reconciles Operations: it reads what operation.Decide needs to know, and carries out what that
// returns. It decides nothing itself.
//
// There is one worker. Two operations that exclude each other are therefore never started at a time: the second
// one reads the status of the first from the API server. No reconcile waits for anything but the API server.
//
// A write carries the resource version that the decision was made from, and fails if it is an old one; the reconcile is
// then repeated. What is created is created under a name that the operation determines. So a reconcile that ends between
// any two steps is finished by the next one.
package controller
