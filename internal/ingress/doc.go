// Package ingress is a node's reverse proxy: it decides which pod serves a request, and passes the request on.
//
// It is given a Table of routes and their ready pods, whole and anew at each change, and never asks who is ready itself.
// What it learns by itself is only what the wire tells: how many requests a pod works on, and whether a connection to it
// was refused. Everything else about a pod is somebody else's decision.
package ingress
