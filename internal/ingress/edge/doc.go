// Package edge puts a node's ingress together: the proxy, its doors and its certificates run and are told apart as one. It
// opens the plain door while there is any route and the secure one while any of them wants TLS.
package edge
