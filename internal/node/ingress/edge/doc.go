// Package edge combines the parts of a node's ingress: it runs the proxy, its listeners and its certificates as one,
// and reports their state. It opens the plain listener while there is any route, and the secure one while any route
// wants TLS.
package edge
