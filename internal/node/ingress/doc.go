// Package ingress is a node's reverse proxy: it decides which pod serves a request, and passes the request on.
//
// It gets a complete Table of routes and their ready pods at each change, and never asks whether a pod is ready. By
// itself it only learns how many requests a pod has in flight, and whether a connection to it was refused. Everything
// else about a pod is decided elsewhere.
//
// Only net/http reads and writes HTTP, plain or over TLS, towards clients and towards pods: a second HTTP parser facing
// the internet isn't worth its speed.
package ingress
