// Package acme pins the ACME server that integration tests run on loopback, in a module of its own: nothing of it is
// ever part of Tend. internal/node/ingress/edge builds and starts it.
package acme
