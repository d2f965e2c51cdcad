// Package authority issues the certificates by which servers and nodes of a cluster identify each other. A certificate
// says which node it is; what a node may do is decided elsewhere.
package authority
