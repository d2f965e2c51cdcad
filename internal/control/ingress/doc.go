// Package ingress is the controller of ingresses: it says in their status what the nodes' proxies make of them. It serves
// nothing itself and tells the proxies nothing: they read the same objects.
package ingress
