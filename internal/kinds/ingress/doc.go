// Package ingress holds the kind of ingresses. Its step computes the status, which describes how the nodes' proxies
// serve an ingress. The package serves nothing and sends nothing to the proxies: they read the same objects.
package ingress
