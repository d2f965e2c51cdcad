// Package ingress holds the kind of ingresses: its step makes the status, which says how the nodes' proxies serve them.
// It serves nothing itself and sends nothing to the proxies: they read the same objects.
package ingress
