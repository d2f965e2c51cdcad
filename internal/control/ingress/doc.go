// Package ingress is the controller of ingresses: it writes into their status how the nodes' proxies serve them. It
// serves nothing itself and sends nothing to the proxies: they read the same objects.
package ingress
