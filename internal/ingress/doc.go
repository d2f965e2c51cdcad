// Package ingress is a node's reverse proxy: it decides which pod serves a request, and passes the request on.
//
// It is given a Table of routes and their ready pods, the whole of it at each change, and never asks who is ready itself. What it
// learns by itself is how many requests a pod works on, and whether a connection to it was refused. Everything else about a pod is
// decided elsewhere.
//
// HTTP is read and written by net/http alone, plain or over TLS, towards clients and towards pods: a second reader of it at the
// border to the world isn't worth its speed.
package ingress
